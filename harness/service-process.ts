import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { newSecret } from '../src/domain/api-key.ts';

const MAIN = fileURLToPath(new URL('../bin/petstore.js', import.meta.url));
const STOP_MS_MAX = 20_000;
/** The line of a start. That of version 1.1.0 is text. */
export const READY = /"baseUrl":"([^"]+)".*"msg":"started"| is ready at (\S+)/;
/** What the service logs when a rolling restart is complete. */
const REPLACED = 'all workers were replaced';
/** As in `npm start`. */
const NODE_FLAGS = ['--max-semi-space-size=8'];

export interface ServiceOptions {
  /** By default a new folder, which is removed when the process is stopped. */
  data?: string | undefined;
  /** The URL of a PostgreSQL database; undefined for the embedded store. */
  database?: string | undefined;
  /** Becomes the first key of an empty store. By default a new one. */
  key?: string;
  /** More flags of `petstore serve`. */
  flags?: readonly string[];
  /** The program of another version. */
  main?: string | undefined;
  env?: Readonly<Record<string, string>>;
  /** Flags of Node.js, which break the service on purpose for the control of a drill. */
  nodeFlags?: readonly string[] | undefined;
}

/** `petstore serve` in its own process, on a free port, without a log. */
export class ServiceProcess {
  readonly baseUrl: string;
  readonly key: string;
  /** The file of the embedded store. */
  readonly file: string;
  readonly #child: ChildProcess;
  readonly #stderrLines: string[];

  private constructor(
    parts: Pick<ServiceProcess, 'baseUrl' | 'key' | 'file'>,
    child: ChildProcess,
    stderrLines: string[],
  ) {
    ({ baseUrl: this.baseUrl, key: this.key, file: this.file } = parts);
    this.#child = child;
    this.#stderrLines = stderrLines;
  }

  /** Resolves when the service accepts requests. */
  static async start(options: ServiceOptions = {}): Promise<ServiceProcess> {
    const { key = newSecret('production', randomBytes), database, main = MAIN } = options;
    const data = options.data ?? mkdtempSync(join(tmpdir(), 'petstore-drill-'));
    const fixed = ['--port', '0', '--admin-port', 'off', '--log', 'silent', '--data', data];
    if (database !== undefined) fixed.push('--database', database);
    const nodeFlags = [...NODE_FLAGS, ...(options.nodeFlags ?? [])];
    const child = spawn(
      process.execPath,
      [...nodeFlags, main, 'serve', ...fixed, ...(options.flags ?? [])],
      { env: { PETSTORE_BOOTSTRAP_KEY: key, ...options.env }, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    // The service must not keep running after a drill that fails.
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => {
      process.removeListener('exit', kill);
      if (options.data === undefined) rmSync(data, { recursive: true, force: true });
    });
    const stderrLines: string[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    createInterface({ input: child.stderr })
      .on('line', (line) => {
        stderrLines.push(line);
        const baseUrl = READY.exec(line)?.slice(1).find(Boolean);
        if (baseUrl !== undefined) resolve(baseUrl);
      })
      .once('close', () =>
        reject(new Error(`the service did not start: ${stderrLines.join('\n')}`)),
      );
    const file = join(data, 'production', 'petstore.sqlite');
    return new ServiceProcess({ baseUrl: await promise, key, file }, child, stderrLines);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get port(): number {
    return Number(new URL(this.baseUrl).port);
  }

  /** The processes that it has started, oldest first: its workers. */
  workerPids(): number[] {
    const children = readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, 'utf8');
    return (children.match(/\d+/g) ?? []).map(Number);
  }

  /** The memory of the process that the system holds for it. Its workers do not count. */
  memoryMib(): number {
    return this.#statusMib('VmRSS');
  }

  /** The most memory that it has had. */
  peakMemoryMib(): number {
    return this.#statusMib('VmHWM');
  }

  /** The processor time that it has used, in the program and in the system. */
  cpuSeconds(): number {
    const stat = readFileSync(`/proc/${this.pid}/stat`, 'utf8');
    // The name of the program, in parentheses, may contain spaces. Times are in hundredths of a second.
    const fields = stat.slice(stat.lastIndexOf(')')).split(' ');
    return (Number(fields[12]) + Number(fields[13])) / 100;
  }

  /** How many files and sockets the process has open. */
  openFiles(): number {
    return readdirSync(`/proc/${this.pid}/fd`).length;
  }

  /** How many lines of its log contain this text. */
  countLogLines(text: string): number {
    return this.#stderrLines.filter((line) => line.includes(text)).length;
  }

  /** The first line of its log that contains this text. */
  findLogLine(text: string): string | undefined {
    return this.#stderrLines.find((line) => line.includes(text));
  }

  /** How many rolling restarts are complete. The log must have the level info. */
  restarts(): number {
    return this.countLogLines(REPLACED);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Kills the process, and resolves when it has ended. Its workers may still run. */
  async kill(): Promise<void> {
    if (this.#hasEnded) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  /** Waits until the process ends by itself. Kills it after this time. Returns its exit code, or its signal. */
  async waitForEnd(withinMs: number): Promise<number | string | null> {
    const child = this.#child;
    const overdue = setTimeout(() => child.kill('SIGKILL'), withinMs);
    if (!this.#hasEnded) await once(child, 'exit');
    clearTimeout(overdue);
    return child.exitCode ?? child.signalCode;
  }

  /** Returns the violations of the process: it must still run, and must then exit with 0. */
  async stop(): Promise<string[]> {
    if (this.#hasEnded) return [`the process of ${this.baseUrl} ended before it was stopped`];
    this.#child.kill('SIGTERM');
    const code = await this.waitForEnd(STOP_MS_MAX);
    return code === 0 ? [] : [`the process of ${this.baseUrl} ended with ${code ?? 'a signal'}`];
  }

  #statusMib(name: string): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return Math.round(Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024);
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}
