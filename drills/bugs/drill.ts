import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, devNull } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newRandom } from '../../harness/random.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { inParallel, Sandbox, type TestResult } from '../sandbox.ts';
import { withBug, type Bug } from './bug.ts';
import { BUGS } from './bugs.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What came of each bug. It is complete after each one: a run takes long, and may be ended early. */
const LIST = join(ROOT, 'artifacts', 'bugs.txt');
/** More than processors: most tests wait. */
const SANDBOXES = 2 * availableParallelism();
/** A test that fails in another way has not run to its end, such as one whose file cannot be loaded. */
const FAILURES = ['testCodeFailure', 'testTimeoutFailure'];
/** The reason of a test whose program cannot be loaded. */
const NOT_LOADED = /SyntaxError|ReferenceError|ERR_MODULE_NOT_FOUND|does not provide an export/;

type NamedBug = Bug & { name: string };
const ALL: readonly NamedBug[] = Object.entries<Bug>(BUGS).map(([name, bug]) => ({ name, ...bug }));

export const drill: Drill = {
  promise: 'Each bug of a list is found by the test that is named beside it.',
  method:
    'The list has bugs that were made once, or are plausible: a text of a file, and what stands there with the bug. Each is written to a copy of the project, in which its test must fail twice, as a test and not because a file cannot be loaded. Without a bug the same tests must pass. A text that is no longer there is a violation, so that the list follows the code.',
  unit: 'bugs',
  rounds: ALL.length,
  quickRounds: 3,
  isNamedOnly: true,
  run: (options) => run(options, choose(options), LIST),
  control: {
    brokenBy: 'a change that changes nothing, and a text that is not there',
    finds: ['is not found by', 'has the text of the bug 0 times'],
    run: (options) => run(options, brokenBugs(choose(options)), devNull),
  },
};

/** All bugs, or some at random; of those whose files have changed in the last commits, if a number is given. */
function choose({ rounds, seed, commits }: DrillOptions): NamedBug[] {
  const changed = commits === undefined ? undefined : filesChangedIn(commits);
  const waiting = ALL.filter(({ file }) => changed?.has(file) ?? true);
  const random = newRandom(seed);
  const chosen: NamedBug[] = [];
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

function brokenBugs(bugs: readonly NamedBug[]): NamedBug[] {
  return bugs.map((bug, index) =>
    index === 0 ? { ...bug, text: 'there is no such text' } : { ...bug, changed: bug.text },
  );
}

async function run(
  { onProgress }: DrillOptions,
  bugs: readonly NamedBug[],
  list: string,
): Promise<DrillReport> {
  const violations: string[] = [];
  using stack = new DisposableStack();
  const sandboxes = Array.from({ length: SANDBOXES }, () => stack.use(new Sandbox(ROOT)));
  const skipped = await runUnchanged(sandboxes, bugs, { violations, onProgress });
  // A test that fails without a bug would find every one.
  if (violations.length > 0) return { passed: 0, violations, figures: {} };
  mkdirSync(dirname(LIST), { recursive: true });
  writeFileSync(list, '');
  const tried = bugs.filter(({ title }) => !skipped.has(title));
  let [done, found] = [0, 0];
  await inParallel(sandboxes, tried, async (sandbox, bug) => {
    const result = await tryBug(sandbox, bug);
    if (result.isFound) found += 1;
    else violations.push(result.text);
    done += 1;
    appendFileSync(list, `${result.isFound ? 'found' : 'NOT FOUND'}: ${result.text}\n`);
    onProgress(`${found} of ${done} bugs found, ${tried.length - done} to go`);
  });
  return {
    passed: found,
    violations,
    figures: {
      'bugs found': `${found} of ${tried.length}`,
      'bugs not tried, because their tests are skipped here': bugs.length - tried.length,
    },
  };
}

/** Runs the tests without a bug. Returns the titles of those that are skipped, with the reason. */
async function runUnchanged(
  sandboxes: readonly Sandbox[],
  bugs: readonly NamedBug[],
  { violations, onProgress }: Pick<DrillOptions, 'onProgress'> & { violations: string[] },
): Promise<Map<string, string>> {
  const byFile = [...Map.groupBy(bugs, ({ test }) => test)];
  const skipped = new Map<string, string>();
  let done = 0;
  await inParallel(sandboxes, byFile, async (sandbox, [file, ofFile]) => {
    const titles = [...new Set(ofFile.map(({ title }) => title))];
    let results = await sandbox.test(file, { titles });
    // Once more, because a busy machine may fail one.
    if (results.some(isFailed)) results = await sandbox.test(file, { titles });
    for (const title of titles) {
      const result = results.find((each) => each.title === title);
      if (result === undefined) violations.push(`${file} has no test "${title}"`);
      else if (isFailed(result)) violations.push(`without a bug: ${file}: ${title} fails`);
      else if (result.outcome === 'skipped') skipped.set(title, result.reason);
    }
    done += 1;
    onProgress(`${done} of ${byFile.length} test files without a bug`);
  });
  return skipped;
}

async function tryBug(
  sandbox: Sandbox,
  bug: NamedBug,
): Promise<{ isFound: boolean; text: string }> {
  const { name, file, test, title } = bug;
  let content: string;
  try {
    content = withBug(bug, readFileSync(join(ROOT, file), 'utf8'));
  } catch (error) {
    return { isFound: false, text: `${name}: ${(error as Error).message}` };
  }
  using _ = sandbox.change({ file, content });
  const isIt = (result: TestResult) => result.title === title && isFailed(result);
  // The line of a test comes before the block that says how it has failed.
  const isEnough = (result: TestResult) => isIt(result) && result.failureType !== '';
  let failure: TestResult | undefined;
  // Twice, because a busy machine may fail one.
  for (let time = 0; time < 2; time += 1) {
    const results = await sandbox.test(test, { titles: [title], isEnough });
    failure = results.find(isIt);
    if (failure === undefined || !isOfTest(failure)) {
      const instead = failure ?? results.find(isFailed);
      const reason = instead === undefined ? '' : `; instead: ${instead.title}: ${instead.reason}`;
      return {
        isFound: false,
        text: `${name} (${file}) is not found by ${test}: ${title}${reason}`,
      };
    }
  }
  return { isFound: true, text: `${name} (${file}) by ${test}: ${title}: ${failure?.reason}` };
}

const isFailed = ({ outcome }: TestResult) => outcome === 'failed';

function isOfTest({ failureType, reason }: TestResult): boolean {
  return FAILURES.includes(failureType) && !NOT_LOADED.test(reason);
}
