import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, devNull } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newRandom } from '../../harness/random.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { inParallel, Sandbox, type TestResult } from '../sandbox.ts';
import { allBugs, withBug, type Bug } from './list.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What came of each bug. It is complete after each one: a run takes long, and may be ended early. */
const LIST = join(ROOT, 'artifacts', 'bugs.txt');
/** More than processors: most tests wait. */
const SANDBOXES = 2 * availableParallelism();
/** A test that fails in another way has not run to its end, such as one whose file cannot be loaded. */
const FAILURES = ['testCodeFailure'];
/** The reason of a test whose program cannot be loaded. */
const NOT_LOADED = /SyntaxError|ReferenceError|ERR_MODULE_NOT_FOUND|does not provide an export/;

/** The file that has noticed each bug last. */
const NOTICED = JSON.parse(
  readFileSync(new URL('noticed.json', import.meta.url), 'utf8'),
) as Record<string, string>;
const LISTED = allBugs();
const ALL = LISTED.filter(({ isUnnoticed }) => !isUnnoticed);
const testOf = ({ name }: Bug) => NOTICED[name] ?? '';

export const drill: Drill = {
  promise: 'Each bug of a list is noticed by a test.',
  method:
    'The list has bugs that were made once, or are plausible: a text of a file, and what stands there with the bug. Each is written to a copy of the project, in which a test must fail twice, as a test and not because a file cannot be loaded. Without a bug the same tests must pass. A text that is no longer there is a violation, so that the list follows the code.',
  unit: 'bugs',
  rounds: ALL.length,
  quickRounds: 3,
  isNamedOnly: true,
  run: (options) => run(options, choose(options), LIST),
  control: {
    brokenBy: 'a change that changes nothing, and a text that is not there',
    finds: ['is not found', 'has the text of the bug 0 times'],
    run: (options) => run(options, brokenBugs(choose(options)), devNull),
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
  return chosen;
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

function brokenBugs(bugs: readonly Bug[]): Bug[] {
  return bugs.map((bug, index) =>
    index === 0 ? { ...bug, text: 'there is no such text' } : { ...bug, changed: bug.text },
  );
}

async function run(
  { onProgress }: DrillOptions,
  bugs: readonly Bug[],
  list: string,
): Promise<DrillReport> {
  const violations: string[] = [];
  using stack = new DisposableStack();
  const sandboxes = Array.from({ length: SANDBOXES }, () => stack.use(new Sandbox(ROOT)));
  mkdirSync(dirname(LIST), { recursive: true });
  writeFileSync(list, '');
  let [done, found] = [0, 0];
  await inParallel(sandboxes, bugs, async (sandbox, bug) => {
    const result = await tryBug(sandbox, bug);
    if (result.isFound) found += 1;
    else violations.push(result.text);
    done += 1;
    appendFileSync(list, `${result.isFound ? 'found' : 'NOT FOUND'}: ${result.text}\n`);
    onProgress(`${found} of ${done} bugs found, ${bugs.length - done} to go`);
  });
  const figures = {
    'bugs found': `${found} of ${bugs.length}`,
    'not noticed yet': LISTED.length - ALL.length,
  };
  return { passed: found, violations, figures };
}

async function tryBug(sandbox: Sandbox, bug: Bug): Promise<{ isFound: boolean; text: string }> {
  let content: string;
  try {
    content = withBug(bug, readFileSync(join(ROOT, bug.file), 'utf8'));
  } catch (error) {
    return { isFound: false, text: `${bug.name}: ${(error as Error).message}` };
  }
  using _ = sandbox.change({ file: bug.file, content });
  const test = testOf(bug);
  const results = await sandbox.test(test, { isEnough: isNotice });
  const notice = results.find(isNotice);
  const where = `${bug.name} (${bug.file})`;
  return notice === undefined
    ? { isFound: false, text: `${where} is not found by ${test}` }
    : { isFound: true, text: `${where} by ${test}: ${notice.title}: ${notice.reason}` };
}

/** A test that has failed by an assertion or an error of its own. Running out of time is not a notice. */
function isNotice({ outcome, failureType, reason }: TestResult): boolean {
  return outcome === 'failed' && FAILURES.includes(failureType) && !NOT_LOADED.test(reason);
}
