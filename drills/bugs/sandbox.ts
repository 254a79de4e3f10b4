import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import '../../harness/memory-folder.ts';
import { canMount } from '../../harness/small-disk.ts';

/** Tests that take longer have failed: a change may have removed the end of a loop. */
const TESTS_MS_MAX = 600_000;
const TEST_MS_MAX = 120_000;
/** PostgreSQL runs as another user. */
const OPEN_MODE = 0o1777;
const RUNNER = [
  '--import=./harness/memory-folder.ts',
  '--test',
  '--test-reporter=tap',
  `--test-timeout=${TEST_MS_MAX}`,
  '--test-force-exit',
  // Node.js may then not read node_modules, which is a link to a folder outside.
  '--test-skip-pattern=permission model',
  // Of a drill, which is then quick.
  '--test-skip-pattern=/^control: /',
];
const QUICK = { DRILL_FULL: undefined, DRILL_ROUNDS: undefined, DRILL_SEED: undefined };
/** A line of TAP for each test, and for one that has failed a block that says why. */
const RESULT = /^( *)(not )?ok \d+ - (.*?)(?: # SKIP ?(.*))?\n(?: *---\n([\s\S]*?)^ *\.\.\.\n)?/gm;
const LOCATION = /^ *location: '(.*?)(:\d+)*'$/m;
const FAILURE_TYPE = /^ *failureType: '(\w+)'$/m;
const SUITE = /^ *type: 'suite'$/m;
const ERROR = /^ *error: (?:\|-\n)?(.*)$/m;

/** One test of a file, or a suite of tests. A file that cannot be loaded is a test with its name. */
export interface TestResult {
  title: string;
  isSuite: boolean;
  outcome: 'passed' | 'failed' | 'skipped';
  /** Why it was skipped, or the first line of its error. */
  reason: string;
  /** Where it is, if it has failed. */
  path: string;
  /** How it has failed, in a word of Node.js, such as `testCodeFailure`. */
  failureType: string;
}

/** A worktree of the project, with what is not committed, in which one file at a time is changed. */
export class Sandbox implements Disposable {
  readonly #root: string;
  readonly #folder: string;
  /** A disk that a killed test has mounted is gone with its processes. */
  readonly #namespace = canMount() ? ['unshare', '--mount'] : [];

  constructor(root: string) {
    this.#root = root;
    // Short names: the path of a browser's socket has at most 107 bytes.
    this.#folder = mkdtempSync(join(tmpdir(), 'm-'));
    const changed = this.#git('stash', 'create').trim();
    this.#git('worktree', 'add', '--force', '--detach', this.#folder, changed || 'HEAD');
    symlinkSync(join(root, 'node_modules'), join(this.#folder, 'node_modules'));
    chmodSync(this.#folder, OPEN_MODE);
    // Also when the drill is ended early.
    process.once('exit', this.#remove);
  }

  #git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.#root, encoding: 'utf8', stdio: 'pipe' });
  }

  readonly #remove = (): void => {
    rmSync(this.#folder, { recursive: true, force: true });
    this.#git('worktree', 'prune');
  };

  /** Writes the changed file, and the original when it is disposed of. */
  change({ file, content }: { file: string; content: string }): Disposable {
    const path = join(this.#folder, file);
    const original = readFileSync(path);
    writeFileSync(path, content);
    return { [Symbol.dispose]: () => writeFileSync(path, original) };
  }

  /** Runs a test file, or several in one process, or only the tests with these titles, until a result is enough. */
  async test(
    files: string | readonly string[],
    { titles = [], isEnough = () => false }: TestOptions = {},
  ): Promise<TestResult[]> {
    const temporary = mkdtempSync(join(this.#folder, 't-'));
    chmodSync(temporary, OPEN_MODE);
    const patterns = titles.map((title) => `--test-name-pattern=${RegExp.escape(title)}`);
    try {
      const all = [files].flat();
      // They start no server, and have no hooks outside a suite.
      const isolation = all.every((file) => file.endsWith('.unit.test.ts')) ? 'none' : 'process';
      const flags = [...RUNNER, `--test-isolation=${isolation}`, ...patterns];
      return await this.#run([...flags, ...all], temporary, isEnough);
    } finally {
      // A database that was ended with its test may still write for a moment.
      rmSync(temporary, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    }
  }

  #run(
    flags: readonly string[],
    temporary: string,
    isEnough: (result: TestResult) => boolean,
  ): Promise<TestResult[]> {
    const [program = '', ...args] = [...this.#namespace, process.execPath, ...flags];
    const child = spawn(program, args, {
      cwd: this.#folder,
      // Without the mark of a test that runs a test.
      env: { ...process.env, TMPDIR: temporary, NODE_TEST_CONTEXT: undefined, ...QUICK },
      // Its own process group, so that the processes of a test end with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const kill = () => killGroup(child.pid);
    // Nothing of a test remains when the drill is ended early.
    process.once('exit', kill);
    return new Promise((resolve) => {
      let output = '';
      let ended = 'the test runner';
      const overdue = setTimeout(() => {
        ended = 'a test that did not end';
        kill();
      }, TESTS_MS_MAX);
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (parseTap(output).some(isEnough)) kill();
      });
      child.on('close', (code) => {
        clearTimeout(overdue);
        process.off('exit', kill);
        kill();
        const results = parseTap(output);
        const isExplained = code === 0 || results.some(isFailed);
        resolve(isExplained ? results : [...results, failed(ended)]);
      });
    });
  }

  [Symbol.dispose](): void {
    process.off('exit', this.#remove);
    this.#remove();
  }
}

const isFailed = ({ outcome }: TestResult) => outcome === 'failed';

interface TestOptions {
  titles?: readonly string[];
  isEnough?: (result: TestResult) => boolean;
}

/** Also what a test has left behind. */
function killGroup(leader: number | undefined): void {
  try {
    process.kill(-Number(leader), 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

function failed(title: string): TestResult {
  return { title, isSuite: false, outcome: 'failed', reason: '', path: '', failureType: '' };
}

/** The results in the output of the reporter `tap`, which may still grow. */
export function parseTap(output: string): TestResult[] {
  return [...output.matchAll(RESULT)].map(([, , not, title = '', skipped, block = '']) => ({
    title: title.replaceAll(/\\([\\#])/g, '$1'),
    isSuite: SUITE.test(block),
    outcome: not !== undefined ? 'failed' : skipped !== undefined ? 'skipped' : 'passed',
    reason: skipped ?? ERROR.exec(block)?.[1]?.trim() ?? '',
    path: LOCATION.exec(block)?.[1] ?? '',
    failureType: FAILURE_TYPE.exec(block)?.[1] ?? '',
  }));
}

/** Does some work for each item, in each sandbox for one at a time. */
export async function inParallel<Item>(
  sandboxes: readonly Sandbox[],
  items: readonly Item[],
  work: (sandbox: Sandbox, item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  await Promise.all(
    sandboxes.map(async (sandbox) => {
      for (const next of waiting) await work(sandbox, next);
    }),
  );
}
