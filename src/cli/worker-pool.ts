import cluster, { type Worker } from 'node:cluster';
import { Refusal } from '../domain/errors.ts';
import type { Log } from '../ops/log.ts';
import { sendTo, type WorkerMessage } from './worker-channel.ts';

/** The delay before a crashed worker is replaced. It doubles with every crash in a row, up to the maximum. */
const BACK_OFF_MIN_MS = 100;
const BACK_OFF_MAX_MS = 10_000;
/** After this uptime a crash is not counted as part of a crash loop. */
const SETTLED_MS = 30_000;
/** A worker that was told to stop drains for up to 8 seconds; after this time it is killed. */
const STOP_MS_MAX = 9_300;

/** A worker exited before it was ready for requests; it has printed the reason itself. */
export class WorkerRefused extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`a worker ended with exit code ${exitCode} before it was ready`);
    this.name = 'WorkerRefused';
    this.exitCode = exitCode;
  }
}

interface Member {
  worker: Worker;
  /** A worker that is `starting` has no connections; one that is `closed` accepts no more. */
  state: 'starting' | 'listening' | 'ready' | 'stopping' | 'closed';
  /** To be replaced by the current rolling restart. */
  isOld: boolean;
  startedMs: number;
  ended: Promise<void>;
}

/**
 * Keeps a number of workers running. The primary owns the listener, so that it stays open while workers
 * end and start. Every event changes the members and then calls `#adjust`, which alone starts workers.
 */
export class WorkerPool {
  readonly #size: number;
  readonly #log: Log;
  /** Every worker process that runs. */
  readonly #members = new Set<Member>();
  readonly #start = Promise.withResolvers<string>();
  readonly #failure = Promise.withResolvers<Refusal>();
  /** The first worker starts alone, so that an error common to all of them is printed once. */
  #wanted = 1;
  #isStarted = false;
  #deathsInARow = 0;
  #backOff: NodeJS.Timeout | undefined;
  #isLeaving = false;
  #stopping: Promise<void> | undefined;

  constructor(size: number, log: Log) {
    this.#size = size;
    this.#log = log;
  }

  /** Whether `/readyz` is 200. */
  get isReady(): boolean {
    return !this.#isLeaving && this.#readyCount > 0;
  }

  /** Resolves when the store of a worker has failed. All workers then end. */
  get failed(): Promise<Refusal> {
    return this.#failure.promise;
  }

  get #readyCount(): number {
    return this.#in('ready').length;
  }

  /** Resolves with the base address when all workers are ready. */
  start(): Promise<string> {
    this.#adjust();
    return this.#start.promise;
  }

  /** Replaces all workers one by one: a new one is ready before an old one is stopped. */
  replaceAll(): void {
    if (this.#old.length > 0 || this.#members.size === 0) return;
    for (const member of this.#members) member.isOld = true;
    this.#adjust();
  }

  /** From now on, every worker responds to `/readyz` with 503, also one that starts later. */
  setNotReady(): void {
    this.#isLeaving = true;
    for (const member of this.#in('ready')) sendTo(member.worker, 'not-ready');
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  kill(): void {
    for (const { worker } of this.#members) worker.process.kill('SIGKILL');
  }

  #in(...states: Member['state'][]): Member[] {
    return [...this.#members].filter(({ state }) => states.includes(state));
  }

  get #old(): Member[] {
    return [...this.#members].filter(({ isOld }) => isOld);
  }

  /** Starts the missing workers; during a rolling restart, one more than the wanted number. */
  #adjust(): void {
    this.#drainClosed();
    if (this.#stopping !== undefined) return;
    const serving = this.#in('starting', 'listening', 'ready');
    const old = serving.filter(({ isOld }) => isOld);
    const isReplacing = this.#isStarted && old.length > 0;
    // Only after the previous old worker has exited: workers are replaced one by one.
    const extra = isReplacing && this.#members.size === this.#wanted ? 1 : 0;
    const missing = Math.max(this.#wanted - serving.length, extra);
    if (this.#backOff === undefined) for (let count = 0; count < missing; count += 1) this.#fork();
    const next = old.find(({ state }) => state === 'ready');
    if (isReplacing && next !== undefined && this.#readyCount > this.#wanted) stop(next);
  }

  /**
   * A client that is asked to disconnect connects again at once. When all workers stop, none of them drains
   * before all have closed, because the primary then closes the listener: a client that connects again is
   * refused instead of accepted and reset.
   */
  #drainClosed(): void {
    const closed = this.#in('closed');
    if (this.#stopping !== undefined && closed.length < this.#members.size) return;
    for (const member of closed) sendTo(member.worker, 'go');
  }

  #fork(): void {
    const worker = cluster.fork();
    const ended = Promise.withResolvers<void>();
    const member: Member = {
      worker,
      state: 'starting',
      isOld: false,
      startedMs: performance.now(),
      ended: ended.promise,
    };
    this.#members.add(member);
    worker.on('message', (message: WorkerMessage) => {
      this.#onMessage(member, message);
      this.#adjust();
    });
    worker.once('exit', (code, signal) => {
      this.#members.delete(member);
      ended.resolve();
      if (this.#stopping === undefined) this.#onExit(member, code, signal);
      this.#adjust();
    });
  }

  #onMessage(member: Member, message: WorkerMessage): void {
    if ('ready' in message && member.state === 'listening') {
      member.state = 'ready';
      if (this.#isLeaving) sendTo(member.worker, 'not-ready');
      this.#wanted = this.#size;
      if (this.#readyCount < this.#size) return;
      this.#isStarted = true;
      this.#start.resolve(message.ready.baseUrl);
    } else if ('failed' in message) {
      const failure = new Refusal('unavailable', message.failed);
      this.#start.reject(failure);
      this.#failure.resolve(failure);
      void this.stop();
    } else if ('ask' in message) {
      if (message.ask === 'listen' && member.state === 'starting') member.state = 'listening';
      if (message.ask === 'drain') member.state = 'closed';
      else sendTo(member.worker, 'go');
    }
  }

  #onExit({ worker, state, isOld, startedMs }: Member, code: number | null, signal: string): void {
    const wasStarting = state === 'starting' || state === 'listening';
    if (wasStarting && !this.#isStarted) {
      this.#start.reject(new WorkerRefused(code ?? 1));
      void this.stop();
      return;
    }
    if (wasStarting || state === 'ready') {
      this.#log.error({ pid: worker.process.pid, code, signal }, 'a worker died');
      this.#delayForks(wasStarting ? 0 : performance.now() - startedMs);
    }
    if (wasStarting && this.#old.length > 0) {
      for (const member of this.#old) member.isOld = false;
      this.#log.error('the new worker did not start; the old ones stay');
    } else if (isOld && this.#old.length === 0) {
      this.#log.info('all workers were replaced');
    }
  }

  #delayForks(livedMs: number): void {
    this.#deathsInARow = livedMs > SETTLED_MS ? 0 : this.#deathsInARow + 1;
    const waitMs = Math.min(BACK_OFF_MIN_MS * 2 ** this.#deathsInARow, BACK_OFF_MAX_MS);
    this.#backOff ??= setTimeout(() => {
      this.#backOff = undefined;
      this.#adjust();
    }, waitMs);
  }

  async #stopAll(): Promise<void> {
    clearTimeout(this.#backOff);
    for (const member of this.#in('starting')) member.worker.process.kill('SIGKILL');
    for (const member of this.#in('listening', 'ready')) stop(member);
    await Promise.all([...this.#members].map(({ ended }) => ended));
  }
}

function stop(member: Member): void {
  member.state = 'stopping';
  sendTo(member.worker, 'stop');
  const overdue = setTimeout(() => member.worker.process.kill('SIGKILL'), STOP_MS_MAX);
  void member.ended.then(() => clearTimeout(overdue));
}
