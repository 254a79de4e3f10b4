import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import '../../test/support/memory-folder.ts';
import type { TemporaryFolder } from '../temporary-folder.ts';
import { Coverage } from './coverage.ts';
import type { Mutant } from './mutants.ts';

/** A mutant whose tests take longer counts as found: it may have removed the end of a loop. */
const TESTS_MS_MAX = 300_000;
const TEST_MS_MAX = 60_000;
const FAILED = /^\s*not ok \d+ - (.*)\n/m;
const OUTPUT_LENGTH_MAX = 1_000;
const OPEN_MODE = 0o1777;
const RUNNER = [
  '--import',
  './test/support/memory-folder.ts',
  '--test',
  '--test-reporter=tap',
  '--test-concurrency=2',
  `--test-timeout=${TEST_MS_MAX}`,
];

/** A copy of the project, in which one file at a time is changed. */
export class Sandbox implements AsyncDisposable {
  readonly #root: string;
  readonly #folder: string;

  private constructor(root: string, folder: string) {
    this.#root = root;
    this.#folder = folder;
  }

  static async open(root: string): Promise<Sandbox> {
    const folder = await mkdtemp(join(tmpdir(), 'petstore-mutation-'));
    const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n');
    for (const file of files.filter((each) => each !== '')) {
      await mkdir(join(folder, dirname(file)), { recursive: true });
      await cp(join(root, file), join(folder, file));
    }
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    // PostgreSQL runs as another user.
    await chmod(folder, OPEN_MODE);
    return new Sandbox(root, folder);
  }

  /** Writes the changed file, and the original when it is disposed of. */
  async change({ file, content }: Mutant): Promise<AsyncDisposable> {
    const path = join(this.#folder, file);
    await writeFile(path, content);
    return { [Symbol.asyncDispose]: () => cp(join(this.#root, file), path) };
  }

  /** Whether the compiler refuses the change. The linter then finds it before any test. */
  async isRefused(): Promise<boolean> {
    try {
      const compiler = join(this.#folder, 'node_modules', '.bin', 'tsc');
      await promisify(execFile)(compiler, ['--noEmit'], { cwd: this.#folder });
      return false;
    } catch {
      return true;
    }
  }

  /** Runs test files, and returns the name of the first test that fails. */
  async failingTest(files: readonly string[]): Promise<string | undefined> {
    await using temporary = await this.#newFolder();
    return await this.#run(files, { TMPDIR: temporary.path });
  }

  /** Runs a test file, and returns which places it runs; undefined if a test fails. */
  async coverageOf(file: string): Promise<Coverage | undefined> {
    await using temporary = await this.#newFolder();
    await using written = await this.#newFolder();
    const env = { TMPDIR: temporary.path, NODE_V8_COVERAGE: written.path };
    if ((await this.#run([file], env)) !== undefined) return undefined;
    return await Coverage.read(written.path);
  }

  #run(files: readonly string[], env: Record<string, string>): Promise<string | undefined> {
    const child = spawn(process.execPath, [...RUNNER, ...files], {
      cwd: this.#folder,
      env: { ...process.env, ...env },
      // Its own process group, so that the processes of a test end with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return untilFailure(child);
  }

  async #newFolder(): Promise<TemporaryFolder> {
    const path = await mkdtemp(join(this.#folder, 'temporary-'));
    await chmod(path, OPEN_MODE);
    // A database that was ended with its test may still write for a moment.
    const remove = () =>
      rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    return { path, [Symbol.asyncDispose]: remove };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function untilFailure(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    const end = () => process.kill(-Number(child.pid), 'SIGKILL');
    let failing: string | undefined;
    let output = '';
    const overdue = setTimeout(() => {
      failing = 'a test that did not end';
      end();
    }, TESTS_MS_MAX);
    child.stdout?.on('data', (chunk: Buffer) => {
      output = output.slice(-OUTPUT_LENGTH_MAX) + chunk.toString();
      failing ??= FAILED.exec(output)?.[1];
      if (failing !== undefined) end();
    });
    child.on('exit', (code) => {
      clearTimeout(overdue);
      resolve(failing ?? (code === 0 ? undefined : 'the test runner'));
    });
  });
}
