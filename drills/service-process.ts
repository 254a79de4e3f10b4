import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../bin/petstore.js', import.meta.url));
const STOP_MS_MAX = 20_000;
/** The line of a start. That of version 1.1.0 is text. */
export const READY = /"baseUrl":"([^"]+)".*"msg":"started"| is ready at (\S+)/;
/** As in `npm start`. */
const NODE_FLAGS = ['--max-semi-space-size=8'];

/** `petstore serve` in its own process, on a free port. */
export class ServiceProcess {
  readonly baseUrl: string;
  readonly #child: ChildProcess;
  readonly #stderrLines: string[];

  private constructor(baseUrl: string, child: ChildProcess, stderrLines: string[]) {
    this.baseUrl = baseUrl;
    this.#child = child;
    this.#stderrLines = stderrLines;
  }

  /**
   * Resolves when the service accepts requests. `key` becomes the first key of an empty store; `main` is
   * the program of another version; `nodeFlags` break it on purpose, for the control of a drill.
   */
  static async start(
    flags: readonly string[],
    key: string,
    main = MAIN,
    nodeFlags: readonly string[] = [],
  ): Promise<ServiceProcess> {
    const fixed = ['--port', '0', '--admin-port', 'off'];
    const args = [...NODE_FLAGS, ...nodeFlags, main, 'serve', ...fixed, ...flags];
    const child = spawn(process.execPath, args, {
      env: { PETSTORE_BOOTSTRAP_KEY: key },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    // The service must not keep running after a drill that fails.
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => process.removeListener('exit', kill));
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
    return new ServiceProcess(await promise, child, stderrLines);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
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
    const child = this.#child;
    if (this.#hasEnded) {
      return [`the process of ${this.baseUrl} ended before it was stopped`];
    }
    const ended = once(child, 'exit') as Promise<[number | null]>;
    const overdue = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
    child.kill('SIGTERM');
    const [code] = await ended;
    clearTimeout(overdue);
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
