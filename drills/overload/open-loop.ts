// Sends requests at a fixed rate, whether or not the earlier ones have their responses, and measures each. It runs
// in a thread of its own, so that one load does not delay the measurement of another.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const TICK_MS = 2;
const LATE_MS_MAX = 10;
/** Far more than the responses that are due at once. */
const CONNECTIONS_MAX = 4_000;
const SETTLE_MS_MAX = 10_000;
/** Opened before the first request, as clients that are there already have them: for 100 ms of requests. */
const FIRST_CONNECTIONS_SECONDS = 0.1;

export interface Load {
  port: number;
  /** The bytes of one request. */
  request: string;
  perSecond: number;
  seconds: number;
  /** Requests of this first time are sent but not counted. */
  ignoredSeconds?: number;
}

export interface LoadResult {
  sent: number;
  /** Milliseconds from each request to its response, by status. */
  tookMs: Record<number, number[]>;
  /** Responses of 503 that are not an Error with `overloaded`, or lack Retry-After. */
  malformed: number;
  /** Requests without a response. */
  unanswered: number;
  connections: number;
  /** How late the requests were sent at most: this machine was too busy to keep the rate. */
  lateMsMax: number;
}

/** Runs a load in a thread. */
export function runLoad(load: Load): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL(import.meta.url), { workerData: load });
    thread.once('message', resolve);
    thread.once('error', reject);
  });
}

class OpenLoop {
  readonly #load: Load;
  readonly #idle: Socket[] = [];
  readonly #onResponse = new Map<Socket, (response: string) => void>();
  readonly #result: LoadResult = {
    sent: 0,
    tookMs: {},
    malformed: 0,
    unanswered: 0,
    connections: 0,
    lateMsMax: 0,
  };
  #open = 0;

  constructor(load: Load) {
    this.#load = load;
  }

  async run(): Promise<LoadResult> {
    const { perSecond, seconds, ignoredSeconds = 0 } = this.#load;
    const first = Array.from({ length: perSecond * FIRST_CONNECTIONS_SECONDS }, () =>
      connect(this.#load.port, '127.0.0.1'),
    );
    await Promise.all(first.map((socket) => once(socket, 'connect')));
    this.#idle.push(...first.map((socket) => this.#use(socket)));
    let startedMs = performance.now();
    for (let due = 0; due < perSecond * seconds;) {
      await sleep(TICK_MS);
      // Requests that are late because this thread was stopped are moved, not sent all at once: clients on
      // other machines would not have been stopped.
      const lateMs = performance.now() - startedMs - (due * 1_000) / perSecond - LATE_MS_MAX;
      if (lateMs > 0) startedMs += lateMs;
      const elapsedMs = performance.now() - startedMs;
      for (; due < Math.min(elapsedMs / 1_000, seconds) * perSecond; due += 1) {
        const dueMs = (due * 1_000) / perSecond;
        const isCounted = dueMs >= ignoredSeconds * 1_000;
        if (isCounted) {
          this.#result.lateMsMax = Math.max(this.#result.lateMsMax, elapsedMs - dueMs);
        }
        this.#send(isCounted);
      }
    }
    const untilMs = performance.now() + SETTLE_MS_MAX;
    while (this.#open > 0 && performance.now() < untilMs) await sleep(10);
    this.#result.unanswered += this.#open;
    return this.#result;
  }

  #send(isCounted: boolean): void {
    const socket = this.#idle.pop() ?? this.#connect();
    if (socket === undefined) {
      this.#result.unanswered += 1;
      return;
    }
    this.#open += 1;
    if (isCounted) this.#result.sent += 1;
    const sentMs = performance.now();
    this.#onResponse.set(socket, (response) => {
      this.#open -= 1;
      this.#idle.push(socket);
      if (isCounted) this.#count(response, performance.now() - sentMs);
    });
    socket.write(this.#load.request);
  }

  #count(response: string, tookMs: number): void {
    const status = Number(response.slice(9, 12));
    (this.#result.tookMs[status] ??= []).push(tookMs);
    const isRight = /\r\nRetry-After: 1\r\n[^]*"code":"overloaded",.*"status":503\}$/.test(
      response,
    );
    if (status === 503 && !isRight) this.#result.malformed += 1;
  }

  #connect(): Socket | undefined {
    if (this.#result.connections === CONNECTIONS_MAX) return undefined;
    return this.#use(connect(this.#load.port, '127.0.0.1'));
  }

  #use(socket: Socket): Socket {
    this.#result.connections += 1;
    socket.setNoDelay(true);
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      const headEnd = received.indexOf('\r\n\r\n');
      const length = /\r\ncontent-length: (\d+)/i.exec(received)?.[1];
      if (headEnd === -1 || received.length < headEnd + 4 + Number(length)) return;
      const response = received;
      received = '';
      this.#onResponse.get(socket)?.(response);
    });
    socket.on('error', () => undefined);
    // The service closes a connection on which the first request is late.
    socket.on('close', () => {
      const at = this.#idle.indexOf(socket);
      if (at !== -1) this.#idle.splice(at, 1);
    });
    return socket;
  }
}

if (!isMainThread) {
  parentPort?.postMessage(await new OpenLoop(workerData as Load).run());
  // The idle connections would keep the thread alive.
  process.exit(0);
}
