// What the list of bugs says of the tests: `npm run drill -- bugs --list`, `--matrix AREA` and `--alone FILE`.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { availableParallelism } from 'node:os';
import type { Output } from '../../src/cli/command.ts';
import { renderTable } from '../../src/cli/terminal.ts';
import { testsFor, tierFiles } from './areas.ts';
import { inParallel, Sandbox } from './sandbox.ts';
import { runOnly } from './trial.ts';
import { Judge } from './judge.ts';
import { allBugs, type Bug } from './list.ts';
import { NoticeRecord, RECORD_PATH } from './record.ts';
import { searchOrder } from './search.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** One per processor: the matrix is run beside other work. */
const SANDBOXES = availableParallelism();

interface Streams {
  stdout: Output;
  stderr: Output;
}

type Answer = (argument: string, streams: Streams) => Promise<number>;

const ANSWERS: Readonly<Record<string, Answer>> = {
  '--list': list,
  '--only': tryOnly,
  '--matrix': writeMatrix,
  '--alone': listAlone,
};

/** The answer to these arguments of the drill, or undefined if they ask nothing. */
export function findAnswer([flag = '', argument = '']: readonly string[]) {
  const answer = Object.hasOwn(ANSWERS, flag) ? ANSWERS[flag] : undefined;
  return answer && ((streams: Streams) => answer(argument, streams));
}

async function list(_: string, { stdout }: Streams): Promise<number> {
  const record = new NoticeRecord(RECORD_PATH);
  for (const { name, file, isUnnoticed, drill } of allBugs()) {
    const known = drill === undefined ? record.find(name)?.file : `drill ${drill}`;
    stdout.write(
      `${file}: ${name} (${isUnnoticed ? 'not noticed yet' : (known ?? 'not tried')})\n`,
    );
  }
  return 0;
}

async function tryOnly(text: string, { stdout, stderr }: Streams): Promise<number> {
  const report = await runOnly(text, (progress) => stderr.write(`${progress}\n`));
  for (const violation of report.violations) stdout.write(`VIOLATION ${violation}\n`);
  stdout.write(renderTable(Object.entries(report.figures)));
  return report.violations.length === 0 && report.passed > 0 ? 0 : 1;
}

/** Which near tests notice each bug of an area: a table, and for each file the bugs that only it notices. */
async function writeMatrix(area: string, { stdout, stderr }: Streams): Promise<number> {
  const bugs = allBugs().filter(({ file }) => file.startsWith(`${area}/`) || file === area);
  if (area === '' || bugs.length === 0)
    return refuse(
      stderr,
      `--matrix needs a folder or file that has bugs, such as src/domain; "${area}" has none.`,
    );
  const tier = tierFiles();
  const rows = new Map<Bug, string[]>();
  await tryAll(bugs, async (judge, sandbox, bug) => {
    const near = testsFor(bug.file, tier, { isNearOnly: true });
    const units = near.filter((test) => test.endsWith('.unit.test.ts'));
    const noticing = await judge.noticingUnits(sandbox, bug, units);
    for (const test of near.filter((each) => !units.includes(each))) {
      if (await judge.notice(sandbox, { ...bug, drill: undefined }, [test])) noticing.push(test);
    }
    rows.set(bug, noticing);
    stderr.write(`${rows.size} of ${bugs.length}: ${bug.name}: ${noticing.join(', ') || 'none'}\n`);
  });
  const text = matrixOf(rows);
  const path = join(ROOT, 'artifacts', `matrix-${area.replaceAll('/', '-')}.txt`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  stdout.write(text);
  return 0;
}

export function matrixOf(rows: ReadonlyMap<Pick<Bug, 'name' | 'file'>, readonly string[]>): string {
  const lines = [...rows].map(
    ([{ name, file }, tests]) => `${tests.length}\t${file}: ${name}\t${tests.join(', ')}`,
  );
  const files = [...new Set([...rows.values()].flat())].toSorted();
  const sums = files.map((file) => {
    const noticed = [...rows.values()].filter((tests) => tests.includes(file));
    const alone = noticed.filter((tests) => tests.length === 1);
    return `${file}\t${noticed.length}\t${alone.length}`;
  });
  const lengths = [...rows.values()].map(({ length }) => length);
  const count = (length: number) => lengths.filter((each) => each === length).length;
  return [
    'files\tbug\tnoticed by',
    ...lines.toSorted(),
    '',
    'file\tbugs\tonly this file',
    ...sums,
    '',
    `${lengths.length} bugs: ${count(1)} noticed by one file only, ${count(0)} by none`,
    '',
  ].join('\n');
}

/** The bugs of its area that the file notices, and no other file. */
async function listAlone(file: string, { stdout, stderr }: Streams): Promise<number> {
  const tier = tierFiles();
  if (!tier.includes(file))
    return refuse(
      stderr,
      `--alone needs a test file, such as ${tier[0]}; "${file}" is not a test file.`,
    );
  const known = { bugs: allBugs(), record: new NoticeRecord(RECORD_PATH), tier };
  const bugs = known.bugs.filter((bug) => testsFor(bug.file, tier).includes(file));
  let done = 0;
  await tryAll(bugs, async (judge, sandbox, listed) => {
    const bug = { ...listed, drill: undefined };
    const isNoticed = (await judge.notice(sandbox, bug, [file])) !== undefined;
    const others = searchOrder(bug, known).filter((test) => test !== file);
    const other = isNoticed ? await judge.notice(sandbox, bug, others) : undefined;
    done += 1;
    stderr.write(`${done} of ${bugs.length} bugs tried\n`);
    if (isNoticed && other === undefined) stdout.write(`${bug.file}: ${bug.name}\n`);
  });
  return 0;
}

async function tryAll(
  bugs: readonly Bug[],
  work: (judge: Judge, sandbox: Sandbox, bug: Bug) => Promise<void>,
): Promise<void> {
  using stack = new DisposableStack();
  const sandboxes = Array.from({ length: SANDBOXES }, () => stack.use(new Sandbox(ROOT)));
  const judge = new Judge(ROOT);
  await inParallel(sandboxes, bugs, (sandbox, bug) => work(judge, sandbox, bug));
}

function refuse(stderr: Output, message: string): number {
  stderr.write(`${message}\n`);
  return 2;
}
