// What the conformance check finds in the reference service: each line that begins with `>` says what the service does
// differently, how many animals it has (21), the day (15 November 2026), whether the check only reads, how many animals are
// added before, and whether it judges one clause alone. Below it stand the clauses that are not judged as usual: ✓ kept, ✗
// broken, – not checkable. `$` runs the program.

import assert from 'node:assert/strict';
import { afterEach, mock, test } from 'node:test';
import { CLAUSES } from '../../check/clauses/all.ts';
import { main } from '../../check/main.ts';
import { ASKED, KEY, openReferenceService } from '../../check/reference-service.test-server.ts';
import { newReport, type ReportedClause } from '../../check/report.ts';
import { checkService } from '../../check/run.ts';
import { newPetText, ServiceUnderCheck } from '../../check/service-under-check.ts';
import { verdictOf } from '../../check/verdict.ts';
import { Recording } from './recording.ts';

const recording = new Recording(new URL('check.txt', import.meta.url), (line) =>
  /^[>$] /.test(line),
);

afterEach(() => mock.restoreAll());

/** Reads `deviation, 21 animals, on 2026-11-15, reads only, 2 added as sold, only Pet.id`, all of it optional. */
function parse(line: string) {
  const found = (pattern: RegExp) => pattern.exec(line)?.[1];
  return {
    deviation: found(/^> (?!\d+ animal)([^,]+)/),
    animals: Number(found(/(\d+) animal/) ?? 21),
    now: new Date(found(/, on (\S{10})/) ?? '2026-11-15'),
    mayWrite: !line.includes('reads only'),
    added: Number(found(/(\d+) added/) ?? 0),
    status: found(/added as (\w+)/),
    only: found(/only ([\w.-]+)$/),
  };
}

type Circumstances = ReturnType<typeof parse>;

async function judge({ deviation, animals, added, status, only, ...others }: Circumstances) {
  const { base, methods } = openReferenceService({ deviation, animals });
  const subject = {
    base,
    key: KEY,
    run: 'test',
    unwantedCategoryId: 1_234_567_890_123n,
    ...others,
  };
  const service = new ServiceUnderCheck(subject);
  const pet = { name: 'Rex', categoryId: 7n, ...(status !== undefined && { status }) };
  for (let count = 0; count < added; count += 1) await service.create(newPetText(pet));
  methods.length = 0;
  const clause = CLAUSES.find(({ id }) => id === only);
  const findings =
    clause?.kind === 'service'
      ? [{ clause, verdict: await verdictOf(() => clause.check(service)) }]
      : await checkService(subject);
  return { clauses: newReport(subject, findings).clauses, methods };
}

/** The verdicts on a service without deviation, by the id of the clause. */
const USUAL = await judge(parse('> 21 animals')).then(
  ({ clauses }) => new Map(clauses.map(({ id, verdict }) => [id, verdict])),
);

/** One line for clauses with the same verdict; of those that are broken, with the exchange of the first. */
function lineOf([first, ...others]: readonly ReportedClause[]): string {
  const { id = '', verdict, why, request, response, expected } = first ?? {};
  const ids = [id, ...others.map((clause) => clause.id)].join(' ');
  if (verdict === 'kept') return `  ✓ ${ids}`;
  if (verdict === 'not-checkable') return `  – ${ids}: ${why}`;
  return `  ✗ ${ids}: expected ${expected}; ${request}: ${response}`;
}

async function verdictsOf(line: string): Promise<string[]> {
  const circumstances = parse(line);
  const { clauses, methods } = await judge(circumstances);
  const unusual = clauses.filter(
    ({ id, verdict, why }) => verdict !== USUAL.get(id) && why !== 'it needs --write',
  );
  const shown = circumstances.only === undefined ? unusual : clauses;
  const groups = Map.groupBy(shown, ({ verdict, why, expected }) => why ?? expected ?? verdict);
  const posts = methods.filter((method) => method === 'POST').length;
  return [
    ...[...groups.values()].map(lineOf),
    `  ${methods.length} requests, of which ${posts} add`,
  ];
}

/** `$ KEY=value petstore-check WORDS > deviation` */
async function outputOf(line: string): Promise<string[]> {
  const [, key = KEY, words = '', deviation] =
    /^\$ (?:KEY=(\S*) )?petstore-check ?([^>]*)(?: > (.+))?$/.exec(line) ?? [];
  openReferenceService({ deviation, animals: 21 });
  let [out, err] = ['', ''];
  const code = await main(words.split(' ').filter(Boolean), {
    env: { PETSTORE_API_KEY: key.replace('\\t', '\t') },
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
  });
  const lines = [...out.trimEnd().split('\n'), ...err.trimEnd().split('\n')].filter(Boolean);
  return [...lines.map((each) => `  ${each}`), `  [${code}]`];
}

for (const block of recording.blocks) {
  test(block.title, async () => {
    const found: string[] = [];
    for (const line of recording.sentIn(block)) {
      const lines = line.startsWith('>') ? await verdictsOf(line) : await outputOf(line);
      found.push(line, ...lines);
      const isBroken = lines.some((each) => each.startsWith('  ✗'));
      if (block.title.includes('forbids')) assert.ok(isBroken, `${line} breaks no clause`);
      if (block.title.includes('permits')) assert.ok(!isBroken, `${line} breaks a clause`);
    }
    recording.check(block, found);
  });
}

test('every clause that can break is broken by a fault, and every deviation of the service is recorded', () => {
  const lines = recording.blocks.flatMap((block) => block.lines);
  const broken = lines.flatMap((line) => /^ {2}✗ ([^:]+):/.exec(line)?.[1]?.split(' ') ?? []);
  const breakable = CLAUSES.filter(({ kind }) => kind !== 'uncheckable').map(({ id }) => id);
  assert.deepEqual(
    breakable.filter((id) => !broken.includes(id)),
    [],
  );
  const tried = lines.filter((line) => line.startsWith('>')).map((line) => parse(line).deviation);
  assert.deepEqual(new Set(tried), new Set([...ASKED, undefined]));
});
