import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, test, type TestContext } from 'node:test';
import { listPets } from '../../harness/list-pets.ts';
import { sqliteStorage, startTestService } from '../../harness/test-service.ts';
import { UsageError } from '../setting.ts';
import type { NewPet } from '../domain/pet.ts';
import { openSqliteStore } from '../storage/sqlite/store.ts';
import { COMMANDS } from './commands.ts';
import { execute } from './execute.ts';

const REX: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };

interface RunOptions {
  /** What a person types at a terminal, or what standard input contains without a terminal. */
  typed?: string | string[];
  isTTY?: boolean;
  /** Whether messages are on a terminal; by default as the input. */
  isShown?: boolean;
}

/** A store with animals, and the command working on it. */
async function newStore(t: TestContext, animals: number) {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-catalogue-'));
  const place = join(folder, 'production', 'petstore.sqlite');
  const store = openSqliteStore(place);
  t.after(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await store.importPets(Array.from({ length: animals }, () => REX));
  const pets = () => listPets(store, { status: undefined, afterId: 0n, count: 20_000 });

  return {
    place,
    file(name: string, content: string): string {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    },
    run: (args: string[], options?: RunOptions) => run([...args, '--data', folder], options),
    pets,
    statuses: async () => (await pets()).map(({ id, status }) => `${id} ${status}`).join(', '),
  };
}

async function run(
  args: string[],
  { typed = [], isTTY = false, isShown = isTTY }: RunOptions = {},
): Promise<{ code: number; out: string; words: string }> {
  let [out, words] = ['', ''];
  const code = await execute(COMMANDS, ['catalogue', ...args], {
    env: {},
    stdin: Object.assign(Readable.from([typed].flat().map((each) => Buffer.from(each))), { isTTY }),
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (words += text), isTTY: isShown },
  });
  return { code, out, words };
}

function refused(message: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof UsageError);
    assert.match(error.message, message);
    assert.ok(!error.message.includes('\n'));
    return true;
  };
}

describe('petstore catalogue set-status', () => {
  test('the named animals get the status, and the others keep theirs', async (t) => {
    const store = await newStore(t, 4);
    const set = await store.run(['set-status', '3', '1', '3', '--to', 'sold']);
    assert.deepEqual(set, {
      code: 0,
      out: '',
      words: `Set the status of 2 animals in ${store.place} to sold.\n`,
    });
    assert.equal(await store.statuses(), '1 sold, 2 available, 3 sold, 4 available');
    const one = await store.run(['set-status', '1', '--to', 'pending']);
    assert.equal(one.words, `Set the status of 1 animal in ${store.place} to pending.\n`);
    assert.equal(await store.statuses(), '1 pending, 2 available, 3 sold, 4 available');
  });

  test('an id that does not exist has a line of its own, and nothing is changed', async (t) => {
    const store = await newStore(t, 2);
    const args = ['set-status', '1', '7', '2', '9223372036854775807', '--to', 'sold'];
    const lines =
      'petstore: no animal has the id 7.\n' +
      'petstore: no animal has the id 9223372036854775807.\n' +
      `petstore: nothing was changed in ${store.place}.\n`;
    assert.deepEqual(await store.run(args), { code: 1, out: '', words: lines });
    assert.deepEqual(await store.run([...args, '--dry-run']), { code: 1, out: '', words: lines });
    const json = '{"ids":[1,7,2,9223372036854775807],"missing":[7,9223372036854775807],';
    for (const flags of [['--json'], ['--json', '--dry-run']]) {
      const asJson = await store.run([...args, ...flags]);
      assert.deepEqual(asJson, { code: 1, out: `${json}"changed":false}\n`, words: lines });
    }
    assert.equal(await store.statuses(), '1 available, 2 available');
  });

  test('--dry-run shows what would be changed, and changes nothing', async (t) => {
    const store = await newStore(t, 12);
    const ids = Array.from({ length: 12 }, (_, index) => String(index + 1));
    const { code, out, words } = await store.run([
      'set-status',
      ...ids,
      '--to',
      'sold',
      '--dry-run',
    ]);
    assert.equal(code, 0);
    assert.equal(out, '');
    const lines = words.split('\n');
    assert.equal(lines[0], '  1   available  Rex');
    assert.deepEqual(lines.slice(10), [
      '  … and 2 more',
      `Would set the status of 12 animals in ${store.place} to sold; nothing was changed.`,
      '',
    ]);
    assert.ok((await store.pets()).every(({ status }) => status === 'available'));
    const json = await store.run(['set-status', '1', '--to', 'sold', '--dry-run', '--json']);
    assert.equal(json.out, '{"ids":[1],"missing":[],"changed":false}\n');
  });

  test('ids come from a file, one per line, or from standard input', async (t) => {
    const store = await newStore(t, 5);
    const file = store.file('ids.txt', '\ufeff2\r\n\r\n  3 \n2');
    const set = await store.run(['set-status', '1', '--from-file', file, '--to', 'sold', '--json']);
    assert.equal(set.out, '{"ids":[1,2,3],"missing":[],"changed":true}\n');
    const args = ['set-status', '--from-file', '-', '--to', 'pending'];
    assert.equal((await store.run(args, { typed: '4\n5\n' })).code, 0);
    assert.equal(await store.statuses(), '1 sold, 2 sold, 3 sold, 4 pending, 5 pending');
  });

  test('10,000 ids are changed at once, and one more is refused', async (t) => {
    const store = await newStore(t, 10_001);
    const ids = Array.from({ length: 10_000 }, (_, index) => String(index + 1)).join('\n');
    const args = ['set-status', '--from-file', store.file('ids.txt', ids), '--to', 'sold'];
    const set = await store.run(args);
    assert.equal(set.words, `Set the status of 10,000 animals in ${store.place} to sold.\n`);
    assert.equal((await store.pets()).filter(({ status }) => status === 'sold').length, 10_000);
    await assert.rejects(
      store.run([...args, '10001']),
      refused(/^10001 ids are too many: at most/),
    );
    const long = store.file('long.txt', '1\n'.repeat(600_000));
    await assert.rejects(
      store.run(['set-status', '--from-file', long, '--to', 'sold']),
      refused(/long\.txt is too long: at most 10,000/),
    );
    const longest = store.file('longest.txt', '1'.padEnd(1024 * 1024));
    const one = await store.run(['set-status', '--from-file', longest, '--to', 'sold']);
    assert.equal(one.code, 0);
  });
});

describe('petstore catalogue remove', () => {
  test('at a terminal it asks first, and only yes removes', async (t) => {
    const store = await newStore(t, 3);
    for (const typed of ['no\n', '\n', 'y\n', '']) {
      const asked = await store.run(['remove', '2'], { typed, isTTY: true });
      assert.equal(asked.code, 1);
      assert.equal(
        asked.words,
        `  2  available  Rex\nReally remove 1 animal in ${store.place}? This cannot be undone. Type yes to continue: Nothing was changed in ${store.place}.\n`,
      );
    }
    assert.equal((await store.pets()).length, 3);
    // A terminal may give a line in parts, and what follows it is not part of the reply.
    const typed = ['Y', 'es\n', 'no\n'];
    const removed = await store.run(['remove', '2'], { typed, isTTY: true });
    assert.equal(removed.code, 0);
    assert.ok(removed.words.endsWith(`Removed 1 animal in ${store.place}.\n`));
    assert.equal(await store.statuses(), '1 available, 3 available');
  });

  test('without a terminal it needs --yes, and with it asks nothing', async (t) => {
    const store = await newStore(t, 3);
    for (const [isTTY, isShown] of [
      [false, false],
      [true, false],
      [false, true],
    ] as const) {
      const asked = store.run(['remove', '1'], { typed: 'yes\n', isTTY, isShown });
      await assert.rejects(asked, refused(/needs --yes/));
    }
    const fromInput = ['remove', '--from-file', '-'];
    // The answer cannot come from where the ids come from.
    await assert.rejects(
      store.run(fromInput, { typed: '1\n', isTTY: true }),
      refused(/needs --yes/),
    );
    assert.equal((await store.pets()).length, 3);
    const removed = await store.run([...fromInput, '--yes', '--json'], { typed: '1\n3\n' });
    const out = '{"ids":[1,3],"missing":[],"changed":true}\n';
    assert.deepEqual(removed, { code: 0, out, words: `Removed 2 animals in ${store.place}.\n` });
    assert.equal(await store.statuses(), '2 available');
  });

  test('--dry-run needs no --yes and removes nothing; unknown ids remove nothing', async (t) => {
    const store = await newStore(t, 2);
    const dry = await store.run(['remove', '1', '--dry-run']);
    assert.equal(dry.code, 0);
    assert.ok(
      dry.words.endsWith(`Would remove 1 animal in ${store.place}; nothing was changed.\n`),
    );
    for (const flags of [['--yes'], ['--dry-run']]) {
      const { code, words } = await store.run(['remove', '1', '3', ...flags]);
      assert.equal(code, 1);
      assert.equal(
        words,
        `petstore: no animal has the id 3.\npetstore: nothing was changed in ${store.place}.\n`,
      );
    }
    // A person is not asked about animals that do not exist.
    const asked = await store.run(['remove', '3'], { typed: 'yes\n', isTTY: true });
    assert.equal(asked.code, 1);
    assert.equal((await store.pets()).length, 2);
  });
});

test('petstore catalogue › wrong use is one line that says what would be right', async (t) => {
  const store = await newStore(t, 1);
  const wrong: [args: string[], message: RegExp][] = [
    [[], /^catalogue needs a command before "--data": the commands are set-status, remove;/],
    [['sell', '1'], /^there is no command "sell": the commands are set-status, remove;/],
    [['set-status', '1'], /^--to is missing: the new status \(available, pending or sold\)\.$/],
    [['set-status', '1', '--to', 'gone'], /^--to is "gone": it must be one of available, pending/],
    [['set-status', '1', '--to', 'Sold'], /it must be one of/],
    [['set-status', '--to', 'sold'], /^the ids of the animals are missing/],
    [['set-status', '1', '--to', 'sold', '--yes'], /--yes/],
    [['remove', '1', '--to', 'sold'], /--to/],
    // What is missing first is named first.
    [['remove'], /^the ids of the animals are missing/],
    [['remove', 'x'], /^"x" is not the id of an animal/],
    [['remove', '-1', '--yes'], /-1/],
    ...['x', '1.0', '1e3', '', '9223372036854775808', '１'].map((id): [string[], RegExp] => [
      ['remove', id, '--yes'],
      /^".*" is not the id of an animal: it must be a whole number\.$/,
    ]),
    [['remove', '--from-file', store.file('empty', '\n'), '--yes'], /ids of the animals are miss/],
    [
      ['remove', '--from-file', store.file('bad', '1\n\nx\u001b[31m\n'), '--yes'],
      /^line 3 of .*bad: "x\\u001b\[31m" is not the id/,
    ],
    [['remove', '9'.repeat(40), '--yes'], /^"9{40}" is not the id of an animal/],
    [['remove', '9'.repeat(41), '--yes'], /^"9{40}…" is not the id of an animal/],
    [['remove', '--from-file', '/nowhere/ids', '--yes'], /^"\/nowhere\/ids" cannot be read: /],
    [['remove', '--from-file', tmpdir(), '--yes'], /cannot be read: /],
  ];
  for (const [args, message] of wrong) {
    await assert.rejects(store.run(args), refused(message), args.join(' '));
  }
  await assert.rejects(
    store.run(['remove', '--from-file', '-', '--yes'], { typed: 'x\n' }),
    refused(/^line 1 of standard input: "x" is not the id/),
  );
  assert.equal(await store.statuses(), '1 available');
  // A store that does not exist is not created.
  const nowhere = join(tmpdir(), 'petstore-is-not-here');
  await assert.rejects(
    run(['remove', '1', '--yes', '--data', nowhere]),
    refused(/^there is no store at .*petstore\.sqlite \(from --data\): name the folder of a store/),
  );
});

test('petstore catalogue › --help explains both commands and that missing ids change nothing', async () => {
  for (const args of [
    ['set-status', '--help'],
    ['remove', '-h'],
  ]) {
    const { code, out } = await run(args);
    assert.equal(code, 0);
    assert.match(out, /If an id does not exist,\s+nothing is\s+changed/);
  }
});

test('petstore catalogue › a running service shows the change in its next response', async (t) => {
  const service = await startTestService(sqliteStorage);
  t.after(() => service.close());
  const create = (name: string) =>
    service.send('/pets', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': name },
      body: JSON.stringify({ name, categoryId: 7 }),
    });
  const created = await create('Rex');
  await create('Tom');
  // Read often enough to be cached.
  for (let time = 0; time < 5; time += 1) await service.send('/pets?status=available');
  const { headers } = await service.send('/pets?status=available');

  assert.equal((await run(['set-status', '1', '--to', 'sold', ...service.flags])).code, 0);
  const tag = { 'if-none-match': String(headers.etag) };
  const listed = await service.send('/pets?status=available', { headers: tag });
  assert.equal(listed.status, 200);
  assert.equal(listed.text, '[{"id":2,"name":"Tom","categoryId":7,"status":"available"}]');
  assert.equal((await service.send('/pets/1')).text, created.text.replace('available', 'sold'));
  const repeated = await create('Rex');
  assert.equal(repeated.text, created.text);
  assert.equal(repeated.headers['idempotency-replayed'], 'true');

  assert.equal((await run(['remove', '1', '2', '--yes', ...service.flags])).code, 0);
  assert.equal((await service.send('/pets')).text, '[]');
  assert.equal((await service.send('/pets/1')).status, 404);
  assert.equal((await create('Rex')).text, created.text);
  assert.match((await create('Max')).text, /^\{"id":3,/);
});
