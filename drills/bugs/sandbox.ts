import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { run } from 'node:test';
import { fileURLToPath } from 'node:url';
import '../../harness/memory-folder.ts';
import { canMount } from '../../harness/small-disk.ts';
import type { TestResult } from './run-tests.ts';

/** Tests that take longer have failed: a change may have removed the end of a loop. */
const TESTS_MS_MAX = 600_000;
const TEST_MS_MAX = 120_000;
/** PostgreSQL runs as another user. */
const OPEN_MODE = 0o1777;
const RUNNER = fileURLToPath(new URL('run-tests.ts', import.meta.url));
/**
 * Node.js cannot read node_modules, which is a link to a folder outside, under its permission model. A drill is quick here,
 * and its controls show nothing of a bug.
 */
const SKIPPED = [/permission model/, /^control: /].map(({ source }) => source);
const QUICK = { DRILL_FULL: undefined, DRILL_ROUNDS: undefined, DRILL_SEED: undefined };

type TestsOptions = Parameters<typeof run>[0];

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
    try {
      const all = [files].flat();
      const options: TestsOptions = {
        files: all,
        // Unit tests start no server, and have no hooks outside a suite.
        isolation: all.every((file) => file.endsWith('.unit.test.ts')) ? 'none' : 'process',
        ...(titles.length > 0 && { testNamePatterns: titles.map((title) => RegExp.escape(title)) }),
        testSkipPatterns: SKIPPED,
        timeout: TEST_MS_MAX,
        forceExit: true,
      };
      return await this.#run(options, temporary, isEnough);
    } finally {
      // A database that was ended with its test may still write for a moment.
      rmSync(temporary, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    }
  }

  #run(
    options: TestsOptions,
    temporary: string,
    isEnough: (result: TestResult) => boolean,
  ): Promise<TestResult[]> {
    const memory = '--import=./harness/memory-folder.ts';
    const runner = [process.execPath, memory, RUNNER, JSON.stringify(options)];
    const [program = '', ...args] = [...this.#namespace, ...runner];
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
      const results: TestResult[] = [];
      let ended = 'the test runner';
      const overdue = setTimeout(() => {
        ended = 'a test that did not end';
        kill();
      }, TESTS_MS_MAX);
      createInterface({ input: child.stdout }).on('line', (line) => {
        if (!line.startsWith('{"title":')) return;
        const result = JSON.parse(line) as TestResult;
        results.push(result);
        if (isEnough(result)) kill();
      });
      child.on('close', (code) => {
        clearTimeout(overdue);
        process.off('exit', kill);
        kill();
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
