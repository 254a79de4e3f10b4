import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, devNull } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newRandom } from '../../harness/random.ts';
import { tierFiles } from '../areas.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { inParallel, Sandbox } from '../sandbox.ts';
import { Judge, type Notice } from '../judge.ts';
import { allBugs, type Bug } from './list.ts';
import { searchOrder } from './search.ts';
import { NoticeRecord, RECORD_PATH } from './record.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What came of each bug. It is complete after each one: a run takes long, and may be ended early. */
const LIST = join(ROOT, 'artifacts', 'bugs.txt');
/** At most so many at once. More than processors: most tests wait. */
const SANDBOXES = 2 * availableParallelism();

const ALL = allBugs();

export const drill: Drill = {
  promise: 'Each bug of a list is noticed by a test.',
  method:
    'The list has bugs that were made once, or are plausible: a text of a file, and what stands there with the bug. Each is written to a copy of the project, in which a test must fail by an assertion or an error that it throws, twice, and pass without the bug. A file that cannot be loaded and a test that runs out of time notice nothing. First runs the file that noticed the bug last, then those of the same area. Some bugs have a drill that must find them instead, in a quick run. A text that is no longer there is a violation, so that the list follows the code.',
  unit: 'bugs',
  rounds: ALL.length,
  quickRounds: 3,
  isNamedOnly: true,
  run: (options) => run(options, choose(options), { list: LIST, record: recordOfAll() }),
  control: {
    brokenBy:
      'a change that changes nothing, one that cannot be loaded, and a text that is not there',
    finds: [
      '(nothing) is not noticed',
      '(unloadable) is not noticed',
      'has the text of the bug 0 times',
    ],
    run: (options) => run(options, brokenBugs(), { list: devNull }),
  },
};

/** All bugs, or some at random; of those whose files have changed in the last commits, if a number is given. */
function choose({ rounds, seed, commits }: DrillOptions): Bug[] {
  const changed = commits === undefined ? undefined : filesChangedIn(commits);
  const waiting = ALL.filter(({ file }) => changed?.has(file) ?? true);
  const random = newRandom(seed);
  const chosen: Bug[] = [];
  while (chosen.length < rounds && waiting.length > 0) {
    chosen.push(...waiting.splice(random.integer(waiting.length), 1));
  }
  // A bug that nothing notices takes the longest.
  return chosen.toSorted((one, other) => Number(one.isUnnoticed) - Number(other.isUnnoticed));
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' });
}

/** Also what is not committed. A clone with fewer commits has all files changed. */
function filesChangedIn(commits: number): Set<string> | undefined {
  const count = Number(git('rev-list', '--count', '--first-parent', 'HEAD'));
  if (count <= commits) return undefined;
  return new Set(git('diff', '--name-only', `HEAD~${commits}`).split('\n'));
}

/** The bugs whose name or file has the text, as if they were all. */
export function runOnly(
  text: string,
  onProgress: DrillOptions['onProgress'],
): Promise<DrillReport> {
  const bugs = ALL.filter(({ name, file }) => name.includes(text) || file.includes(text));
  const options = { rounds: bugs.length, seed: 1, onProgress };
  return run(options, bugs, { list: LIST, record: recordOfAll() });
}

function ownTest({ file }: Bug): string {
  return file.replace('.ts', '.unit.test.ts');
}

function brokenBugs(): Bug[] {
  const tier = tierFiles();
  const bug = ALL.find((each) => tier.includes(ownTest(each)));
  if (bug === undefined) throw new Error('no file of a bug has a unit test');
  return [
    { ...bug, name: '(nothing)', changed: bug.text },
    { ...bug, name: '(unloadable)', changed: '((' },
    { ...bug, name: '(missing)', text: 'there is no such text' },
  ];
}

function recordOfAll(): NoticeRecord {
  const record = new NoticeRecord(RECORD_PATH);
  record.keep(new Set(ALL.map(({ name }) => name)));
  return record;
}

const OUTCOMES = ['noticed', 'not noticed', 'not noticed yet', 'skipped'] as const;

interface Result {
  outcome: (typeof OUTCOMES)[number];
  text: string;
  isViolation: boolean;
}

/** Without a record, only the unit test of the file that has the bug runs. */
async function run(
  { onProgress }: DrillOptions,
  bugs: readonly Bug[],
  { list, record }: { list: string; record?: NoticeRecord },
): Promise<DrillReport> {
  using stack = new DisposableStack();
  const sandboxes = Array.from({ length: Math.min(SANDBOXES, bugs.length) }, () =>
    stack.use(new Sandbox(ROOT)),
  );
  mkdirSync(dirname(LIST), { recursive: true });
  writeFileSync(list, '');
  const judge = new Judge(ROOT);
  const tier = tierFiles();
  const results: Result[] = [];
  const count = (of: Result['outcome']) => results.filter(({ outcome }) => outcome === of).length;
  await inParallel(sandboxes, bugs, async (sandbox, bug) => {
    const files =
      record === undefined ? [ownTest(bug)] : searchOrder(bug, { bugs: ALL, record, tier });
    const { notice, result } = await tryBug({ judge, sandbox }, bug, files);
    if (notice !== undefined && bug.drill === undefined) record?.set(bug.name, notice.file);
    results.push(result);
    appendFileSync(list, `${result.outcome}: ${result.text}\n`);
    const left = bugs.length - results.length;
    onProgress(`${count('noticed')} of ${results.length} bugs noticed, ${left} to go`);
  });
  return {
    passed: results.filter((each) => each.outcome === 'noticed' && !each.isViolation).length,
    violations: results.filter(({ isViolation }) => isViolation).map(({ text }) => text),
    figures: Object.fromEntries(OUTCOMES.map((outcome) => [outcome, count(outcome)])),
  };
}

async function tryBug(
  { judge, sandbox }: { judge: Judge; sandbox: Sandbox },
  bug: Bug,
  files: readonly string[],
): Promise<{ notice?: Notice; result: Result }> {
  const { name, file, isUnnoticed } = bug;
  let notice: Notice | undefined;
  try {
    notice = await judge.notice(sandbox, bug, files);
  } catch (error) {
    const text = `${name}: ${(error as Error).message}`;
    return { result: { outcome: 'not noticed', text, isViolation: true } };
  }
  if (notice !== undefined) {
    const by = `${name} (${file}) by ${notice.file}: ${notice.title}: ${notice.reason}`;
    const text = isUnnoticed ? `remove the mark "not noticed yet": ${by}` : by;
    return { notice, result: { outcome: 'noticed', text, isViolation: isUnnoticed } };
  }
  const text = `${name} is not noticed by ${bug.drill ?? `${files.length} test files`} (${file})`;
  if (isUnnoticed) return { result: { outcome: 'not noticed yet', text, isViolation: false } };
  const isSkipped = await judge.isSkipped(sandbox, bug, files[0] ?? '');
  return {
    result: { outcome: isSkipped ? 'skipped' : 'not noticed', text, isViolation: !isSkipped },
  };
}
