// All messages between the primary and its workers. Only this file sends and receives them.

import cluster, { type Worker } from 'node:cluster';
import { Refusal } from '../domain/errors.ts';
import type { Portion } from '../domain/rate-limit.ts';
import type { Report } from '../ops/exposition.ts';

/** From a worker to the primary. */
export type WorkerMessage =
  | { ready: { baseUrl: string } }
  /** The worker ends for this reason, and all others must end too. */
  | { failed: string }
  /** Waits for `go`: then the worker accepts connections, or finishes its requests and exits. */
  | { ask: 'listen' | 'drain' }
  /** Asks for a portion of the rate limit of a key. */
  | { portionOf: string }
  | { report: Report };

/** From the primary to a worker. */
export type PrimaryMessage =
  | 'go'
  /** Close and drain. */
  | 'stop'
  /** From now on `/readyz` is 503. */
  | 'not-ready'
  /** Report the metrics of the runtime too. */
  | 'report'
  | { portionOf: string; portion: Portion };

/** The primary replies in microseconds. If it takes this long, it is stopped or overloaded. */
const PRIMARY_TIMEOUT_MS = 5_000;

/** Runs in the primary. The send fails if the worker has just died: its exit event follows, so that is ignored. */
export function sendTo(worker: Worker, message: PrimaryMessage): void {
  worker.send(message, () => undefined);
}

/** Runs in the primary. */
export function onWorkerMessage(take: (worker: Worker, message: WorkerMessage) => void): void {
  cluster.on('message', take);
}

/** Runs in a worker: the primary, as this worker sees it. */
export class Primary {
  onNotReady: (() => void) | undefined;
  onReport: (() => void) | undefined;
  readonly #stop = Promise.withResolvers<void>();
  #go = Promise.withResolvers<void>();
  /** By key. An entry outlives a timeout until the reply arrives, so that at most one message per key is in flight. */
  readonly #portions = new Map<string, PromiseWithResolvers<Portion>>();

  constructor() {
    process.on('message', (message: PrimaryMessage) => {
      if (message === 'stop') this.#stop.resolve();
      else if (message === 'go') this.#go.resolve();
      else if (message === 'not-ready') this.onNotReady?.();
      else if (message === 'report') this.onReport?.();
      else if (typeof message === 'object') this.#receive(message.portionOf, message.portion);
    });
  }

  get stopped(): Promise<void> {
    return this.#stop.promise;
  }

  /** Resolves when the message was sent. If the primary is gone, this worker is about to end. */
  tell(message: WorkerMessage): Promise<void> {
    return new Promise((resolve) => {
      process.send?.(message, undefined, undefined, () => resolve());
    });
  }

  /** Resolves when the primary sends `go`. */
  ask(what: 'listen' | 'drain'): Promise<void> {
    this.#go = Promise.withResolvers();
    void this.tell({ ask: what });
    return this.#go.promise;
  }

  async takePortion(keyId: string): Promise<Portion> {
    const cause = 'the primary did not reply in time';
    const refusal = new Refusal('unavailable', 'Requests cannot be counted right now.', { cause });
    if (this.#portions.has(keyId)) throw refusal;
    const reply = Promise.withResolvers<Portion>();
    const timer = setTimeout(() => reply.reject(refusal), PRIMARY_TIMEOUT_MS);
    this.#portions.set(keyId, reply);
    void this.tell({ portionOf: keyId });
    return reply.promise.finally(() => clearTimeout(timer));
  }

  #receive(keyId: string, portion: Portion): void {
    this.#portions.get(keyId)?.resolve(portion);
    this.#portions.delete(keyId);
  }
}
