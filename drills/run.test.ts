// The program `npm run drill`: its command line, and what it makes of a run.

import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { run } from '../harness/command.ts';
import { disposableFolder } from '../harness/temporary-folder.ts';
import { promisesOf, withRun, type Outcome } from './outcomes.ts';

const ROOT = join(import.meta.dirname, '..');
const DOCUMENT = readFileSync(join(ROOT, 'docs', 'reliability.md'), 'utf8');
const NAMES = globSync('drills/*/*.drill.ts', { cwd: ROOT }).map((path) =>
  basename(path, '.drill.ts'),
);

const drill = (...args: string[]) =>
  run(args, { command: [process.execPath, join(ROOT, 'drills/run.ts')] });

test('without a name it lists each drill with its promise in docs/reliability.md, and runs none', async () => {
  const { code, stdout } = await drill();
  assert.equal(code, 0);
  const promises = promisesOf(DOCUMENT);
  assert.deepEqual(promises.map(([name]) => name).toSorted(), NAMES.toSorted());
  for (const [name, promise] of promises) {
    assert.ok(stdout.includes(`${name.padEnd(12)} ${promise}\n`), name);
  }
});

for (const [args, message] of [
  [['falts'], `"falts" is not a drill: it must be all, or one of ${NAMES.toSorted().join(', ')}.`],
  [['all', '--rounds', '0'], '--rounds is "0": it must be an integer from 1 to 999999999.'],
  [['all', '--seed', '1e3'], '--seed is "1e3": it must be an integer from 1 to 999999999.'],
  [['all', '--quick', '--write'], '--write is for full runs: leave out --quick and --rounds.'],
] as const) {
  test(`\`npm run drill -- ${args.join(' ')}\` is refused with one line and exit code 2`, async () => {
    assert.deepEqual(await drill(...args), { code: 2, stdout: '', stderr: `${message}\n` });
  });
}

const DRILL_IMPORT = `import { drill } from ${JSON.stringify(join(ROOT, 'drills/drill.ts'))};`;
const report = (violations: string) =>
  `async () => ({ passed: 3, violations: ${violations}, figures: { creates: 7 } })`;
const size = `{ unit: 'rounds', rounds: 9, quickRounds: 2 }`;
/** What a drill of one search and one control comes to. */
const outcomeOf = async (search: string, control: string, more = '') => {
  await using folder = await disposableFolder();
  const file = join(folder.path, 'one.drill.ts');
  const controls = `{ broken: { finds: ['lost'], search: ${report(control)} } }`;
  writeFileSync(
    file,
    `${DRILL_IMPORT}drill('kept', ${size}, ${report(search)}, ${controls});${more}`,
  );
  // A test cannot run tests in its own process.
  const script = `import { run } from 'node:test';
    const { collect, linesOf } = await import(${JSON.stringify(join(ROOT, 'drills/outcomes.ts'))});
    const stream = run({ files: [${JSON.stringify(file)}] });
    const outcomes = collect(stream, ['one']);
    await stream.resume().toArray();
    console.log(JSON.stringify({ ...outcomes.get('one'), lines: linesOf(outcomes) }));`;
  const main = join(folder.path, 'main.ts');
  writeFileSync(main, script);
  const { stdout, stderr } = await run([main], { command: [process.execPath] });
  assert.notEqual(stdout, '', stderr);
  const { seconds, ...outcome } = JSON.parse(stdout) as Outcome & { lines: string };
  assert.equal(typeof seconds, 'number');
  return outcome;
};

const HELD = {
  passed: 2,
  checks: 3,
  figures: ['rounds: 2', 'creates: 7'],
  failures: [],
  skipped: [],
  hasEnded: true,
  lines: 'drills: 2 passed, 0 failed, 3 checks held\n',
};

test('a drill that holds has its checks and figures, and its control has passed', async () => {
  assert.deepEqual(await outcomeOf('[]', "['Rex is lost']"), HELD);
});

test('a drill with a violation has failed, and so has one whose control finds something else', async () => {
  const violated = await outcomeOf("['Rex is lost']", "['Rex is lost']");
  assert.deepEqual(violated.failures, ['kept: Rex is lost']);
  const blind = await outcomeOf('[]', "['no port is free']");
  assert.deepEqual(blind.failures, [
    'control: broken: must find "lost", and found no port is free',
  ]);
  assert.equal(blind.lines, 'drills: 1 passed, 1 failed, 3 checks held\n');
});

test('what a drill lacks is in its lines', async () => {
  const more = `drill('more', { ...${size}, skip: 'needs nginx' }, ${report('[]')}, {});`;
  const { lines } = await outcomeOf('[]', "['lost']", more);
  assert.equal(lines, 'Skipped one: needs nginx\ndrills: 2 passed, 0 failed, 3 checks held\n');
});

test('a run that is written replaces that of its row, also if it failed', () => {
  const document =
    '| `npm run drill -- one` | Kept. | Lost. | old |\n| `npm run drill -- two` | Kept. | Lost. | old |\n';
  const outcome = { ...HELD, failures: ['kept: Rex | Max is lost'], seconds: 5 };
  const written = withRun(document, { name: 'two', outcome, seed: 7, root: ROOT });
  assert.match(
    written,
    /^\| `npm run drill -- one` \| Kept\. \| Lost\. \| old \|\n\| `npm run drill -- two` \| Kept\. \| Lost\. \| 3 checks, 1 failed; \*\*kept: Rex Max is lost\*\*; rounds: 2; creates: 7; seed 7, 5 s on \d+ cores, \w+(?: with changes)?, \d{4}-\d\d-\d\d \|\n$/,
  );
  assert.throws(() => withRun(document, { name: 'three', outcome, seed: 7, root: ROOT }), /no row/);
});

test('every drill that a document names exists', () => {
  for (const document of globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT })) {
    const text = readFileSync(join(ROOT, document), 'utf8');
    for (const [, names = ''] of text.matchAll(/npm run drill -- ((?:[a-z][a-z-]* ?)+)/g)) {
      for (const name of names
        .trim()
        .split(' ')
        .filter((each) => each !== 'all')) {
        assert.ok(NAMES.includes(name), `${document} names the drill ${name}`);
      }
    }
  }
});
