import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseColumns } from '../../pet-file/columns.ts';
import { faultyLines, readList, type ListOptions } from './list.ts';

const NO_OPTIONS: ListOptions = { columns: undefined, encoding: undefined };

const read = (text: string, columns = '') =>
  readList(Buffer.from(text), { ...NO_OPTIONS, columns: parseColumns(columns) });

test('the faulty lines are a list of their own: the same faults, without a choice of columns', async () => {
  const cell = fc.constantFrom('Rex', '7', '', ' ', '"a ""b"""', 'sold', '"two\nlines"', 'name');
  const row = fc.tuple(cell, cell, cell).map((cells) => cells.join(','));
  const table = fc.array(row, { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(table, fc.boolean(), async (rows, hasHeadings) => {
      const text = (hasHeadings ? ['Tier,Art,name', ...rows] : ['Rex,7,sold', ...rows]).join('\n');
      const list = await read(text, '1,2,3');
      const rest = faultyLines(list);
      const again = await read(rest);
      assert.deepEqual(
        [again.pets, again.faults.map(({ text: record, reason }) => [record, reason])],
        [
          [],
          list.faults.map(({ text: record, reason }) => [
            record,
            reason.replace('as the first line', 'one for each column of the header'),
          ]),
        ],
        rest,
      );
    }),
  );
});

test('the faulty items of a JSON array keep every digit, and one that is nested too deeply is left out', async () => {
  const deep = `{"name":${'['.repeat(3_000)}${']'.repeat(3_000)}}`;
  const list = await read(`[${deep},{"name":"Rex"}]`);
  assert.equal(list.faults.length, 2);
  assert.equal(faultyLines(list), '[{"name":"Rex"}]');
  const exact = await read('[{"name":"","categoryId":9223372036854775807}]');
  assert.equal(faultyLines(exact), '[{"name":"","categoryId":9223372036854775807}]');
});

test('other requests are served while a long list is read', async () => {
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 0);
  await read(`name,categoryId\n${',\n'.repeat(500_000)}`);
  clearInterval(timer);
  assert.ok(turns > 10, String(turns));
});
