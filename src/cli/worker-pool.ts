import cluster, { type Worker } from 'node:cluster';
import type { Log } from '../ops/log.ts';

/** A worker that dies is replaced after this long, and after twice as long each time it dies again soon. */
const BACK_OFF_MIN_MS = 100;
const BACK_OFF_MAX_MS = 10_000;
/** A worker that lived this long died of something new. */
const SETTLED_MS = 30_000;
/** A worker that was asked to end drains for up to 8 seconds; then it is made to. */
const STOP_MS_MAX = 9_000;

/** What a worker tells the primary once it takes requests. */
export interface WorkerReady {
  ready: { baseUrl: string };
}
/** What the primary tells a worker that is to answer what it has and end. */
export const STOP = 'stop';

/** A worker ended before it ever took a request; it has said why itself. */
export class WorkerRefused extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`a worker ended with exit code ${exitCode} before it was ready`);
    this.name = 'WorkerRefused';
    this.exitCode = exitCode;
  }
}

/** Keeps a number of workers running. The primary owns the listener, so none of this closes the door. */
export class WorkerPool {
  readonly #size: number;
  readonly #log: Log;
  readonly #workers = new Set<Worker>();
  /** Started, and not ready yet. */
  readonly #starting = new Set<Worker>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #deathsInARow = 0;
  #isStopping = false;
  #replacing: Promise<void> | undefined;

  constructor(size: number, log: Log) {
    this.#size = size;
    this.#log = log;
  }

  get readyCount(): number {
    return this.#workers.size;
  }

  /** Starts the first alone, so that what is wrong for all of them is said once; then the others. */
  async start(): Promise<string> {
    const baseUrl = await this.#add();
    await Promise.all(Array.from({ length: this.#size - 1 }, () => this.#add()));
    return baseUrl;
  }

  /** Puts a new worker in the place of each, one by one: a new one is ready before an old one ends. */
  replaceAll(): Promise<void> {
    this.#replacing ??= this.#replaceEach().finally(() => {
      this.#replacing = undefined;
    });
    return this.#replacing;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const timer of this.#timers) clearTimeout(timer);
    const starting = [...this.#starting];
    // One that is starting may not hear a message yet, but a signal ends it at any moment.
    for (const worker of starting) worker.process.kill('SIGTERM');
    await Promise.all([
      ...[...this.#workers].map((worker) => this.#end(worker)),
      ...starting.map((worker) => this.#ended(worker)),
      this.#replacing,
    ]);
  }

  kill(): void {
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGKILL');
  }

  async #replaceEach(): Promise<void> {
    const present = new Set(this.#workers);
    for (const old of present) {
      if (this.#isStopping) return;
      try {
        await this.#add();
      } catch (error) {
        if (this.#isStopping) return;
        this.#log.error({ err: error }, 'the new worker did not start; the old ones stay');
        return;
      }
      await this.#end(old);
    }
    this.#log.info('all workers were replaced');
  }

  /** Starts one worker and waits until it takes requests. */
  #add(): Promise<string> {
    const worker = cluster.fork();
    this.#starting.add(worker);
    const startedMs = performance.now();
    return new Promise((resolve, reject) => {
      // Parts that workers share, such as a rate limit, send messages of their own.
      worker.on('message', (message: Partial<WorkerReady>) => {
        if (message.ready === undefined) return;
        this.#starting.delete(worker);
        // Too late to be one of ours: it has been told to end.
        if (!this.#isStopping) this.#workers.add(worker);
        resolve(message.ready.baseUrl);
      });
      worker.once('exit', (code, signal) => {
        this.#starting.delete(worker);
        reject(new WorkerRefused(code ?? 1));
        if (!this.#workers.delete(worker)) return;
        this.#log.error({ pid: worker.process.pid, code, signal }, 'a worker died');
        this.#replaceLater(performance.now() - startedMs);
      });
    });
  }

  #replaceLater(livedMs: number): void {
    if (this.#isStopping) return;
    this.#deathsInARow = livedMs > SETTLED_MS ? 0 : this.#deathsInARow + 1;
    const waitMs = Math.min(BACK_OFF_MIN_MS * 2 ** this.#deathsInARow, BACK_OFF_MAX_MS);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      // One that cannot even start counts as another death.
      this.#add().catch(() => this.#replaceLater(0));
    }, waitMs);
    this.#timers.add(timer);
  }

  async #end(worker: Worker): Promise<void> {
    // No longer one of ours: its end is no death.
    this.#workers.delete(worker);
    if (worker.isDead()) return;
    // One that died at this moment has no channel any more, which is its end and no fault of ours.
    worker.send(STOP, () => undefined);
    await this.#ended(worker);
  }

  /** Waits for a worker that was told to end. */
  async #ended(worker: Worker): Promise<void> {
    const overdue = setTimeout(() => worker.process.kill('SIGKILL'), STOP_MS_MAX);
    await new Promise((resolve) => {
      worker.once('exit', resolve);
    });
    clearTimeout(overdue);
  }
}
