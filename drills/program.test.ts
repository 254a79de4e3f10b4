// The program `npm run drill`: its command line, and what it makes of the reports of drills.

import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import type { Drill, DrillOptions, DrillReport } from './drill.ts';
import { DRILLS } from './drills.ts';
import { promisesOf } from './outcomes.ts';
import { runProgram, type DrillList } from './program.ts';

const GREEN: DrillReport = { passed: 3, violations: [], figures: { creates: 3 } };
const RED: DrillReport = { passed: 2, violations: ['Rex is lost'], figures: { creates: 3 } };

function newDrill(change: Partial<Drill> = {}): Drill {
  return {
    promise: 'Loses no animal.',
    method: 'Kills it.',
    unit: 'rounds',
    rounds: 20,
    quickRounds: 2,
    run: async () => GREEN,
    control: { brokenBy: 'nothing is stored', finds: ['is lost'], run: async () => RED },
    ...change,
  };
}

const folder = mkdtempSync(join(tmpdir(), 'petstore-drills-'));
after(() => rmSync(folder, { recursive: true }));
const places = {
  logs: join(folder, 'logs'),
  document: join(folder, 'reliability.md'),
  stolenMs: () => 0,
};

async function run(args: string[], drills: Record<string, Drill>, stolenMs = places.stolenMs) {
  const list: DrillList = Object.fromEntries(
    Object.entries(drills).map(([name, drill]) => [name, async () => ({ drill })]),
  );
  let [stdout, stderr] = ['', ''];
  const output = {
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
  };
  const code = await runProgram(args, list, output, { ...places, stolenMs });
  return { code, stdout, stderr };
}

test('a drill that holds prints its figures, its control and one final line, and the exit code is 0', async () => {
  const { code, stdout } = await run(['all', '--seed', '7'], { crash: newDrill() });
  assert.equal(code, 0);
  assert.match(stdout, /^crash: Loses no animal\.$/m);
  assert.match(stdout, /^rounds {3}20\nseed {5}7\nseconds {2}0\ncreates {2}3$/m);
  assert.match(stdout, /^control \(nothing is stored\): 1 violations, such as: Rex is lost$/m);
  assert.match(stdout, /^crash: 3 passed, 0 failed\n\nall: 3 passed, 0 failed\n$/m);
});

test('a drill that fails prints its violations and the command that repeats it, its log is kept, and the exit code is 1', async () => {
  const { code, stdout } = await run(['crash', '--seed', '7', '--rounds', '5'], {
    crash: newDrill({ run: async () => RED }),
  });
  assert.equal(code, 1);
  assert.match(stdout, /^VIOLATION Rex is lost$/m);
  assert.match(stdout, /^Repeat: npm run drill -- crash --rounds 5 --seed 7$/m);
  assert.match(
    stdout,
    /^crash: 2 passed, 1 failed\n\ncrash failed: Rex is lost \(\S+crash-7\.log\)\nall: 2 passed, 1 failed\n$/m,
  );
  assert.match(readFileSync(join(places.logs, 'crash-7.log'), 'utf8'), /^VIOLATION Rex is lost$/m);
});

test('a quick drill that failed while the host was busy is run once more, which is counted', async () => {
  let runs = 0;
  const flaky = () => newDrill({ run: async () => ((runs += 1) === 1 ? RED : GREEN) });
  const args = ['crash', '--quick', '--seed', '7'];
  let stolen = 0;
  const busy = await run(args, { crash: flaky() }, () => (stolen += 60_000));
  assert.deepEqual([busy.code, runs], [0, 2]);
  assert.match(
    busy.stdout,
    /^Repeated, because the host took 60000 ms of \d+: crash failed: Rex is lost \(.*\)\nall: 3 passed, 0 failed, 1 repeated\n$/m,
  );
  runs = 0;
  const calm = await run(args, { crash: flaky() });
  assert.deepEqual([calm.code, runs], [1, 1]);
  const red = newDrill({ run: async () => RED });
  const again = await run(args, { crash: red }, () => (stolen += 60_000));
  assert.equal(again.code, 1);
  assert.match(again.stdout, /^all: 2 passed, 1 failed, 1 repeated$/m);
});

test('what the time was not enough for is listed, and what failed before still counts', async () => {
  const endless = newDrill({ run: () => new Promise(() => undefined) });
  const drills = { first: newDrill(), endless, last: newDrill() };
  const { code, stdout } = await run(['all', '--seconds', '1', '--seed', '7'], drills);
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^Not reached in 1 s: endless\nNot reached in 1 s: last\nall: 3 passed, 0 failed$/m,
  );
  const red = { first: newDrill({ run: async () => RED }), endless };
  assert.equal((await run(['all', '--seconds', '1', '--seed', '7'], red)).code, 1);
});

test('a drill that throws has failed, and the next drill still runs', async () => {
  const { code, stdout } = await run(['all', '--seed', '7'], {
    first: newDrill({ run: () => Promise.reject(new Error('no port is free')) }),
    second: newDrill(),
  });
  assert.equal(code, 1);
  assert.match(stdout, /^VIOLATION the drill ended early: Error: no port is free$/m);
  assert.match(stdout, /^Repeat: npm run drill -- first --rounds 20 --seed 7$/m);
  assert.match(stdout, /^second: 3 passed, 0 failed$/m);
});

for (const [what, found, control] of [
  ['finds nothing', 'nothing', async () => GREEN],
  ['finds something else', 'a port', async () => ({ ...RED, violations: ['a port'] })],
  ['throws', 'the drill ended', () => Promise.reject(new Error('is lost'))],
] as const) {
  test(`a drill whose control ${what} has failed`, async () => {
    const drill = newDrill({ control: { brokenBy: 'nothing', finds: ['is lost'], run: control } });
    const { code, stdout } = await run(['all'], { crash: drill });
    assert.equal(code, 1);
    const line = `^VIOLATION the control must find "is lost", and found ${found}`;
    assert.match(stdout, new RegExp(line, 'm'));
    assert.match(stdout, /^crash: 3 passed, 1 failed\n\ncrash failed: its control \(.*\)$/m);
  });
}

const neverRun = (name: string) =>
  `| \`${name}\` | Loses no animal. | Nothing is stored. | Never. |\n`;

test('--write replaces the row of each drill that was run, failed or not', async () => {
  writeFileSync(places.document, `Before.\n\n${neverRun('crash')}${neverRun('other')}\nAfter.\n`);
  const drills = { crash: newDrill({ run: async () => RED }), other: newDrill() };
  await run(['crash', '--seed', '2', '--write'], drills);
  const written = readFileSync(places.document, 'utf8');
  assert.match(
    written,
    /^\| `crash` \| Loses no animal\. \| Nothing is stored\. \| 2 checks, 1 failed; \*\*Rex is lost\*\*; creates: 3; seed 2, 0 s on \d+ cores, \w+.*, \d{4}-\d\d-\d\d \|$/m,
  );
  assert.ok(written.endsWith(`\n${neverRun('other')}\nAfter.\n`));
});

test('--quick runs few rounds, and the control gets the same seed', async () => {
  const runs: (number | undefined)[][] = [];
  const record = (report: DrillReport) => async (options: DrillOptions) => {
    runs.push([options.rounds, options.seed]);
    return report;
  };
  const control = { brokenBy: 'nothing', finds: ['lost'], run: record(RED) };
  await run(['all', '--quick', '--seed', '7'], {
    crash: newDrill({ run: record(GREEN), control }),
  });
  assert.deepEqual(runs, [
    [2, 7],
    [2, 7],
  ]);
});

test('a drill that must be named runs only if it is named, and a missing part skips a drill', async () => {
  const drills = {
    long: newDrill({ isNamedOnly: true }),
    other: newDrill({ findMissing: () => 'needs nginx, which is not installed' }),
  };
  const all = await run(['all'], drills);
  assert.doesNotMatch(all.stdout, /^long:/m);
  assert.match(all.stdout, /^other: skipped, because it needs nginx, which is not installed$/m);
  assert.match(
    all.stdout,
    /^Skipped other: needs nginx, which is not installed\nall: 0 passed, 0 failed$/m,
  );
  assert.match((await run(['long'], drills)).stdout, /^long: 3 passed, 0 failed$/m);
});

for (const [args, message] of [
  [['crsh'], '"crsh" is not a drill: it must be all, or one of crash.'],
  [['toString'], '"toString" is not a drill: it must be all, or one of crash.'],
  [['all', '--rounds', '0'], '--rounds is "0": it must be an integer from 1 to 999999999.'],
  [['all', '--seed', '1e3'], '--seed is "1e3": it must be an integer from 1 to 999999999.'],
  [['--round', '1'], "Unknown option '--round'. See --help."],
] as const) {
  test(`\`npm run drill -- ${args.join(' ')}\` is refused with one line and exit code 2`, async () => {
    const { code, stdout, stderr } = await run([...args], { crash: newDrill() });
    assert.deepEqual({ code, stdout, stderr }, { code: 2, stdout: '', stderr: `${message}\n` });
  });
}

test('without a name the program lists every drill with what it does, and runs none', async () => {
  let stdout = '';
  const write = (text: string) => (stdout += text);
  const code = await runProgram([], DRILLS, { stdout: { write }, stderr: { write } });
  assert.equal(code, 0);
  for (const name of Object.keys(DRILLS)) {
    assert.match(stdout, new RegExp(`^${name} +\\d+ .+[.]$`, 'm'));
  }
});

test('every drill has a row in docs/reliability.md, and no other', () => {
  const root = join(import.meta.dirname, '..');
  const page = readFileSync(join(root, 'docs/reliability.md'), 'utf8');
  const files = globSync('drills/*/*.drill.ts', { cwd: root });
  assert.deepEqual(
    promisesOf(page)
      .map(([name]) => name)
      .toSorted(),
    [...files.map((file) => basename(file, '.drill.ts')), ...Object.keys(DRILLS)].toSorted(),
  );
});

test('every drill that a document names exists', () => {
  const root = join(import.meta.dirname, '..');
  for (const document of globSync(['*.md', 'docs/**/*.md', 'sdk/*.md'], { cwd: root })) {
    const text = readFileSync(join(root, document), 'utf8');
    for (const [, names = ''] of text.matchAll(/npm run drill ([a-z][a-z0-9 -]*)`/g)) {
      for (const name of names
        .replace(/ -- .*/, '')
        .trim()
        .split(' ')) {
        assert.ok(Object.hasOwn(DRILLS, name), `${document} names the drill ${name}`);
      }
    }
  }
});
