import { execFile, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import '../../harness/memory-folder.ts';
import { canMount } from '../../harness/small-disk.ts';
import type { Mutant } from './mutants.ts';

/** A mutant whose tests take longer counts as found: it may have removed the end of a loop. */
const TESTS_MS_MAX = 300_000;
const TEST_MS_MAX = 60_000;
const FAILED = /^\s*not ok \d+ - (.*)\n/m;
const OUTPUT_LENGTH_MAX = 1_000;
/** PostgreSQL runs as another user. */
const OPEN_MODE = 0o1777;
/** As in `npm run lint`. */
const PROJECTS = ['.', 'src/web/console/page'];
const RUNNER = [
  '--import=./harness/memory-folder.ts',
  '--test',
  '--test-reporter=tap',
  `--test-timeout=${TEST_MS_MAX}`,
  // Node.js may then not read node_modules, which is a link to a folder outside.
  '--test-skip-pattern=permission model',
];

/** A copy of the project, in which one file at a time is changed. */
export class Sandbox implements Disposable {
  readonly #root: string;
  readonly #folder: string;
  /** A disk that a killed test has mounted is gone with its processes. */
  readonly #namespace = canMount() ? ['unshare', '--mount'] : [];

  constructor(root: string) {
    this.#root = root;
    // Short names: the path of a browser's socket has at most 107 bytes.
    this.#folder = mkdtempSync(join(tmpdir(), 'm-'));
    const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' });
    for (const file of files.trim().split('\n')) {
      mkdirSync(join(this.#folder, dirname(file)), { recursive: true });
      cpSync(join(root, file), join(this.#folder, file));
    }
    symlinkSync(join(root, 'node_modules'), join(this.#folder, 'node_modules'));
    chmodSync(this.#folder, OPEN_MODE);
  }

  /** Writes the changed file, and the original when it is disposed of. */
  change({ file, content }: Mutant): Disposable {
    const path = join(this.#folder, file);
    writeFileSync(path, content);
    return { [Symbol.dispose]: () => cpSync(join(this.#root, file), path) };
  }

  /** Whether the compiler refuses the change. The linter then finds it before any test. */
  async isRefused(): Promise<boolean> {
    const compiler = join(this.#folder, 'node_modules', '.bin', 'tsc');
    const compile = (project: string) =>
      promisify(execFile)(compiler, ['--noEmit', '-p', project], { cwd: this.#folder });
    const results = await Promise.allSettled(PROJECTS.map(compile));
    return results.some(({ status }) => status === 'rejected');
  }

  /** Runs a test file, and returns the name of a test that fails. Twice, because a busy machine may fail one. */
  async failingTest(file: string): Promise<string | undefined> {
    return (await this.#inFolder(file)) && (await this.#inFolder(file));
  }

  async #inFolder(file: string): Promise<string | undefined> {
    const temporary = mkdtempSync(join(this.#folder, 't-'));
    chmodSync(temporary, OPEN_MODE);
    try {
      return await this.#run(file, temporary);
    } finally {
      // A database that was ended with its test may still write for a moment.
      rmSync(temporary, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    }
  }

  #run(file: string, temporary: string): Promise<string | undefined> {
    const [program, ...args] = [...this.#namespace, process.execPath, ...RUNNER, file];
    const child = spawn(program, args, {
      cwd: this.#folder,
      env: { ...process.env, TMPDIR: temporary },
      // Its own process group, so that the processes of a test end with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return new Promise((resolve) => {
      let failing: string | undefined;
      let output = '';
      const end = (test: string) => {
        failing ??= test;
        process.kill(-Number(child.pid), 'SIGKILL');
      };
      const overdue = setTimeout(() => end('a test that did not end'), TESTS_MS_MAX);
      child.stdout.on('data', (chunk: Buffer) => {
        output = output.slice(-OUTPUT_LENGTH_MAX) + chunk.toString();
        const failed = FAILED.exec(output)?.[1];
        if (failed !== undefined) end(failed);
      });
      child.on('exit', (code) => {
        clearTimeout(overdue);
        resolve(failing ?? (code === 0 ? undefined : 'the test runner'));
      });
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
