// The program `npm run drill`: its command line, and what it makes of the reports of drills.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Drill, DrillReport } from '../../drills/drill.ts';
import { DRILLS } from '../../drills/drills.ts';
import { runProgram, type DrillList } from '../../drills/program.ts';

const GREEN: DrillReport = { passed: 3, violations: [], figures: { creates: 3 } };
const RED: DrillReport = { passed: 2, violations: ['Rex is lost'], figures: { creates: 3 } };

function newDrill(change: Partial<Drill> = {}): Drill {
  return {
    purpose: 'Loses no animal.',
    unit: 'rounds',
    rounds: 20,
    quickRounds: 2,
    run: async () => GREEN,
    control: { brokenBy: 'nothing is stored', run: async () => RED },
    ...change,
  };
}

async function run(args: string[], drills: Record<string, Drill>) {
  const list: DrillList = Object.fromEntries(
    Object.entries(drills).map(([name, drill]) => [name, async () => ({ drill })]),
  );
  let [stdout, stderr] = ['', ''];
  const code = await runProgram(args, list, {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
  });
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

test('a drill that fails prints its violations and the command that repeats it, and the exit code is 1', async () => {
  const { code, stdout } = await run(['crash', '--seed', '7', '--rounds', '5'], {
    crash: newDrill({ run: async () => RED }),
  });
  assert.equal(code, 1);
  assert.match(stdout, /^VIOLATION Rex is lost$/m);
  assert.match(stdout, /^Repeat: npm run drill -- crash --rounds 5 --seed 7$/m);
  assert.match(
    stdout,
    /^crash: 2 passed, 1 failed\n\nall: 2 passed, 1 failed \(crash failed\)\n$/m,
  );
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

for (const [what, control] of [
  ['finds nothing', async () => GREEN],
  ['throws', () => Promise.reject(new Error('no port is free'))],
] as const) {
  test(`a drill whose control ${what} has failed`, async () => {
    const drill = newDrill({ control: { brokenBy: 'nothing', run: control } });
    const { code, stdout } = await run(['all'], { crash: drill });
    assert.equal(code, 1);
    assert.match(stdout, /^VIOLATION the control must report violations$/m);
    assert.match(stdout, /^crash: 3 passed, 1 failed$/m);
  });
}

test('--quick runs few rounds, and the control gets the same seed', async () => {
  const runs: [rounds: number, seed: number][] = [];
  const record = (report: DrillReport) => async (options: { rounds: number; seed: number }) => {
    runs.push([options.rounds, options.seed]);
    return report;
  };
  const control = { brokenBy: 'nothing', run: record(RED) };
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
    other: newDrill({ findMissing: () => 'nginx is not installed' }),
  };
  const all = await run(['all'], drills);
  assert.doesNotMatch(all.stdout, /^long:/m);
  assert.match(all.stdout, /^other: skipped, because nginx is not installed$/m);
  assert.match(all.stdout, /^all: 0 passed, 0 failed \(other was skipped\)$/m);
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
