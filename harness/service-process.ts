import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { newSecret } from '../src/domain/api-key.ts';
import { MAIN, NODE_FLAGS, start, type RunOptions } from './command.ts';
import { until } from './until.ts';

const STOP_MS_MAX = 20_000;
/** The line of a start, in the log or as text. */
export const READY = /"baseUrl":"([^"]+)".*"msg":"started"| is ready at (\S+)/;
/** What the service logs when a rolling restart is complete. */
const REPLACED = 'all workers were replaced';
const PRINTED_KEY = /^pet_(?:live|test)_\w{36}$/m;

export interface ServiceOptions {
  /** By default a new folder, which is removed when the process has ended. */
  data?: string | undefined;
  /** The URL of a PostgreSQL database; undefined for the embedded store. */
  database?: string | undefined;
  /** Becomes the first key of an empty store. By default a new one. */
  key?: string;
  /** More flags of `petstore serve`. */
  flags?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Flags of Node.js, which break the service on purpose for the control of a drill. */
  nodeFlags?: readonly string[] | undefined;
}

/** What was decided before the start. */
interface Known {
  key?: string;
  file?: string;
}

/** `petstore serve` in its own process, on a free port, without an admin port unless the flags name one. */
export class ServiceProcess {
  readonly baseUrl: string;
  /** The address of the admin port, or '' if it is off. */
  readonly adminUrl: string;
  /** The key that it was given or has printed, or ''. */
  readonly key: string;
  /** The file of the embedded store, or '' if `serve` was given the folder. */
  readonly file: string;
  /** The fields of the line of the start. */
  readonly started: Readonly<Record<string, unknown>>;
  /** The exit code, or the signal that ended it, when all that it wrote was read. */
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly #child: ChildProcess;
  readonly #written: Written;

  private constructor(child: ChildProcess, written: Written, readyLine: string, known: Known) {
    this.#child = child;
    this.#written = written;
    this.baseUrl = READY.exec(readyLine)?.slice(1).find(Boolean) ?? '';
    this.started = readyLine.startsWith('{')
      ? (JSON.parse(readyLine) as Record<string, unknown>)
      : {};
    this.adminUrl = /^(http\S+)\/metrics$/.exec(String(this.started['metrics']))?.[1] ?? '';
    this.file = known.file ?? '';
    this.key = known.key ?? PRINTED_KEY.exec(written.stdout)?.[0] ?? '';
    this.ended = written.ended;
  }

  /** Resolves when the service accepts requests. It has a key, and its log is silent. */
  static start(options: ServiceOptions = {}): Promise<ServiceProcess> {
    const { key = newSecret('production', randomBytes), database } = options;
    const data = options.data ?? mkdtempSync(join(tmpdir(), 'petstore-'));
    const fixed = ['--log', 'silent', '--data', data];
    if (database !== undefined) fixed.push('--database', database);
    const nodeFlags = [...NODE_FLAGS, ...(options.nodeFlags ?? [])];
    const env = { PETSTORE_BOOTSTRAP_KEY: key, ...options.env };
    return ServiceProcess.run([...fixed, ...(options.flags ?? [])], {
      command: [process.execPath, ...nodeFlags, MAIN],
      env,
      key,
      file: join(data, 'production', 'petstore.sqlite'),
      onEnd: () => {
        if (options.data === undefined) rmSync(data, { recursive: true, force: true });
      },
    });
  }

  /** Runs `petstore serve` with these flags, and resolves when it accepts requests. */
  static async run(
    flags: readonly string[],
    { onEnd, ...options }: RunOptions & Known & { onEnd?: () => void },
  ): Promise<ServiceProcess> {
    const child = start(['serve', '--port', '0', '--admin-port', 'off', ...flags], options);
    // The service must not keep running after a test or a drill that fails.
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => {
      process.removeListener('exit', kill);
      onEnd?.();
    });
    const written = new Written(child);
    const readyLine = await written.readyLine;
    // The line names the command for a key where none is printed. The key is on another stream, which may be later.
    while (
      options.key === undefined &&
      !readyLine.includes('"createKey"') &&
      written.stdout === ''
    ) {
      await once(child.stdout ?? child, 'data');
    }
    return new ServiceProcess(child, written, readyLine, options);
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

  /**
   * The admin addresses of its workers, in their order. Each logs its own at the level info, with `--admin-port 0`;
   * the primary may say before that all of them listen.
   */
  async workerAdminUrls(count: number): Promise<string[]> {
    const byPlace = new Map<string, string>();
    await until('each worker must log its admin address', () => {
      for (const line of this.#written.stderrLines) {
        const [, place, url] = /"worker":"([^"]+)","adminUrl":"([^"]+)"/.exec(line) ?? [];
        if (place !== undefined && url !== undefined) byPlace.set(place, url);
      }
      return byPlace.size === count;
    });
    const places = [...byPlace.keys()].toSorted((a, b) => Number.parseInt(a) - Number.parseInt(b));
    return places.map((place) => byPlace.get(place) ?? '');
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

  stdout(): string {
    return this.#written.stdout;
  }

  stderr(): string {
    return this.#written.stderrLines.map((line) => `${line}\n`).join('');
  }

  /** How many lines of its log contain this text. */
  countLogLines(text: string): number {
    return this.#written.stderrLines.filter((line) => line.includes(text)).length;
  }

  /** The first line of its log that contains this text. */
  findLogLine(text: string): string | undefined {
    return this.#written.stderrLines.find((line) => line.includes(text));
  }

  /** Stops reading standard error and standard output, so that the pipes fill up. */
  stopReading(): void {
    this.#child.stderr?.pause();
    this.#child.stdout?.pause();
  }

  resumeReading(): void {
    this.#child.stderr?.resume();
    this.#child.stdout?.resume();
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

/** What a process has written so far. */
class Written {
  stdout = '';
  readonly stderrLines: string[] = [];
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Rejects if the process ends before. */
  readonly readyLine: Promise<string>;

  constructor(child: ChildProcess) {
    this.ended = once(child, 'close').then(
      ([code, signal]: (number | NodeJS.Signals | null)[]) => code ?? signal ?? -1,
    );
    child.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.readyLine = promise;
    void this.ended.then(() =>
      reject(new Error(`the service did not start: ${this.stderrLines.join('\n')}`)),
    );
    if (child.stderr === null) return;
    createInterface({ input: child.stderr }).on('line', (line) => {
      this.stderrLines.push(line);
      if (READY.test(line)) resolve(line);
    });
  }
}

/** Runs `petstore serve` with these flags until the end of the test. */
export async function serve(
  t: TestContext,
  flags: readonly string[],
  options: RunOptions = {},
): Promise<ServiceProcess> {
  const service = await ServiceProcess.run(flags, options);
  t.after(() => service.kill());
  return service;
}
