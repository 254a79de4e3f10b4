// Several processes on one port. The primary opens the store once; then it only starts workers and passes signals on.

import cluster, { type Address, type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { SETTINGS, type Config } from '../config.ts';
import { UsageError } from '../setting.ts';
import type { Log } from '../ops/log.ts';

/** A worker that has ended is started again after this time. */
const RESTART_MS = 1_000;
/** Ends a worker that is replaced: as SIGTERM, but without the drain delay, because the others serve meanwhile. */
export const REPLACE_SIGNAL = 'SIGUSR2';
/** Tells a worker its number and how many there are, such as `2/4`. */
export const PLACE_VARIABLE = 'PETSTORE_WORKER';

/** The settings of one worker: an admin port of its own, and its share of a limit that no database counts. */
export function configOfWorker(config: Config, place = '1/1'): Config {
  const [number = 1, count = 1] = place.split('/').map(Number);
  const { adminPort, rateLimit, databaseUrl } = config;
  const sharers = databaseUrl === undefined ? count : 1;
  return {
    ...config,
    // Port 0 is any free port for each of them.
    adminPort: adminPort && adminPort + number - 1,
    isAdminGiven: true,
    rateLimit: rateLimit && { ...rateLimit, requests: Math.floor(rateLimit.requests / sharers) },
  };
}

/** Refuses a rate limit of which a worker would get no share. */
export function requireShares({ rateLimit, databaseUrl }: Config, count: number): void {
  if (rateLimit === undefined || databaseUrl !== undefined || rateLimit.requests >= count) return;
  const { requests, windowSeconds } = rateLimit;
  const flag = `--rate-limit (${SETTINGS['rate-limit'].variable})`;
  throw new UsageError(
    `${flag} is ${requests}/${windowSeconds}s, of which each of ${count} workers has a share: it must be at least ${count}/${windowSeconds}s.`,
  );
}

/** One of the workers: a process, and after its end the next one. */
class Slot {
  readonly #place: string;
  readonly #log: Log;
  readonly #end: AbortSignal;
  #worker: Worker | undefined;
  #isReplaced = false;
  #listening = Promise.withResolvers<Address>();

  constructor(place: string, log: Log, end: AbortSignal) {
    this.#place = place;
    this.#log = log;
    this.#end = end;
    end.addEventListener('abort', () => this.signal('SIGTERM'));
  }

  /** Resolves when the process listens, or the next one if it has ended. */
  get listening(): Promise<Address> {
    return this.#listening.promise;
  }

  /** Returns the exit code of a process that ended before it listened, and 0 at the end of the service. */
  async run(): Promise<number> {
    while (!this.#end.aborted) {
      const worker = cluster.fork({ [PLACE_VARIABLE]: this.#place });
      this.#worker = worker;
      let hasListened = false;
      worker.once('listening', (address) => {
        hasListened = true;
        this.#isReplaced = false;
        this.#listening.resolve(address);
      });
      const [code, signal] = (await once(worker, 'exit')) as [number | null, string | null];
      if (this.#end.aborted) break;
      if (!hasListened) return code ?? 1;
      if (this.#isReplaced) continue;
      this.#listening = Promise.withResolvers();
      this.#log.error({ pid: worker.process.pid, code, signal }, 'a worker ended');
      await sleep(RESTART_MS, undefined, { signal: this.#end }).catch(() => undefined);
    }
    return 0;
  }

  /** Resolves when the process has ended and the next one listens. */
  async replace(): Promise<void> {
    await this.listening;
    this.#isReplaced = true;
    this.#listening = Promise.withResolvers();
    this.signal(REPLACE_SIGNAL);
    await this.listening;
  }

  signal(signal: NodeJS.Signals): void {
    this.#worker?.process.kill(signal);
  }
}

/** A number of workers, until the service is stopped or one of them ends before it listens. */
export class Workers {
  readonly #log: Log;
  readonly #slots: Slot[];
  readonly #failure = new AbortController();
  readonly #end: AbortSignal;
  readonly #runs: Promise<void>[] = [];
  #exitCode = 0;
  #isChanging = true;

  constructor(count: number, log: Log, stop: AbortSignal) {
    this.#log = log;
    this.#end = AbortSignal.any([stop, this.#failure.signal]);
    this.#slots = Array.from(
      { length: count },
      (_, index) => new Slot(`${index + 1}/${count}`, log, this.#end),
    );
  }

  /** Resolves with the address of the interface when all workers listen; undefined if the service ends before. */
  async start(): Promise<Address | undefined> {
    let address: Address | undefined;
    // The first one starts alone, so that an error common to all of them is printed once.
    for (const slots of [this.#slots.slice(0, 1), this.#slots.slice(1)]) {
      if (this.#end.aborted) return undefined;
      this.#runs.push(...slots.map((slot) => this.#run(slot)));
      const listening = Promise.all(slots.map((slot) => slot.listening));
      [address] = (await Promise.race([listening, ...this.#runs])) ?? [];
    }
    this.#isChanging = false;
    return address;
  }

  /** Resolves with the exit code when all have ended. */
  async ended(): Promise<number> {
    await Promise.all(this.#runs);
    return this.#exitCode;
  }

  /** Ends all, as SIGTERM does. */
  async end(): Promise<void> {
    this.#failure.abort();
    await this.ended();
  }

  /** Replaces one worker after the other, so that the others serve meanwhile. */
  async replaceAll(): Promise<void> {
    if (this.#isChanging) {
      this.#log.info('SIGHUP is ignored while workers are started or replaced');
      return;
    }
    this.#isChanging = true;
    this.#log.info('replacing the workers one by one');
    for (const slot of this.#slots) await slot.replace();
    this.#isChanging = false;
    this.#log.info('all workers were replaced');
  }

  async #run(slot: Slot): Promise<void> {
    const exitCode = await slot.run();
    this.#exitCode ||= exitCode;
    this.#failure.abort();
  }
}
