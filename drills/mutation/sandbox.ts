import { execFile, execFileSync, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Mutant } from './mutants.ts';

/** A mutant whose tests take longer counts as found: it may have removed the end of a loop. */
const TESTS_MS_MAX = 300_000;
const TEST_MS_MAX = 60_000;
const FAILED = /^\s*not ok /m;

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
    return new Sandbox(root, folder);
  }

  /** Runs the tests on the mutant until one fails. */
  async isFound({ file, content }: Mutant, tests: readonly string[]): Promise<boolean> {
    await writeFile(join(this.#folder, file), content);
    try {
      return await this.#fails(tests);
    } finally {
      await cp(join(this.#root, file), join(this.#folder, file));
    }
  }

  /** Whether the compiler refuses the mutant. The linter then finds it before any test. */
  async isRefused({ file, content }: Mutant): Promise<boolean> {
    await writeFile(join(this.#folder, file), content);
    try {
      const compiler = join(this.#folder, 'node_modules', '.bin', 'tsc');
      await promisify(execFile)(compiler, ['--noEmit'], { cwd: this.#folder });
      return false;
    } catch {
      return true;
    } finally {
      await cp(join(this.#root, file), join(this.#folder, file));
    }
  }

  #fails(tests: readonly string[]): Promise<boolean> {
    const flags = ['--test', '--test-reporter=tap', '--test-concurrency=2'];
    const hook = ['--import', './test/memory-folder.ts'];
    const limit = `--test-timeout=${TEST_MS_MAX}`;
    const child = spawn(process.execPath, [...hook, ...flags, limit, ...tests], {
      cwd: this.#folder,
      // Its own process group, so that the processes of a test end with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return new Promise((resolve) => {
      const end = () => process.kill(-Number(child.pid), 'SIGKILL');
      const overdue = setTimeout(end, TESTS_MS_MAX);
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => {
        output = output.slice(-200) + chunk.toString();
        if (FAILED.test(output)) end();
      });
      child.on('exit', (code) => {
        clearTimeout(overdue);
        resolve(code !== 0);
      });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
