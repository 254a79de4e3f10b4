// Sends requests at a fixed rate, whether or not the earlier ones have their responses, and measures each. It runs
// in a thread of its own, so that one load does not delay the measurement of another.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const TICK_MS = 1;
const LATE_MS_MAX = 3;
/** Far more than the responses that are due at once. */
const CONNECTIONS_MAX = 4_000;
const SETTLE_MS_MAX = 10_000;

export interface Client {
  port: number;
  /** The bytes of one request. */
  request: string;
  /** Opened before the first request, as clients that are there already have them. */
  firstConnections: number;
}

export interface Rate {
  perSecond: number;
  seconds: number;
  /** Requests of this first time are sent but not counted. */
  ignoredSeconds: number;
}

export interface LoadResult {
  sent: number;
  /** How long each took in milliseconds, by status. */
  responses: Record<number, number[]>;
  /** Requests without a response. */
  unanswered: number;
}

/** A thread that sends the same request again and again. */
export class LoadThread implements AsyncDisposable {
  readonly #thread: Worker;

  private constructor(client: Client) {
    this.#thread = new Worker(new URL(import.meta.url), { workerData: client });
  }

  /** Resolves when the connections are open. */
  static async start(client: Client): Promise<LoadThread> {
    const thread = new LoadThread(client);
    await once(thread.#thread, 'message');
    return thread;
  }

  async run(rate: Rate): Promise<LoadResult> {
    this.#thread.postMessage(rate);
    const [result] = (await once(this.#thread, 'message')) as [LoadResult];
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate();
  }
}

class OpenLoop {
  readonly #client: Client;
  readonly #idle: Socket[] = [];
  readonly #onResponse = new Map<Socket, (response: string) => void>();
  #result = newResult();
  #connections = 0;
  #open = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  async connect(): Promise<void> {
    const { firstConnections, port } = this.#client;
    const first = Array.from({ length: firstConnections }, () => connect(port, '127.0.0.1'));
    await Promise.all(first.map((socket) => once(socket, 'connect')));
    this.#idle.push(...first.map((socket) => this.#use(socket)));
  }

  async run({ perSecond, seconds, ignoredSeconds }: Rate): Promise<LoadResult> {
    this.#result = newResult();
    let startedMs = performance.now();
    for (let due = 0; due < perSecond * seconds;) {
      await sleep(TICK_MS);
      // Requests that are late because this thread was stopped are moved, not sent all at once: clients on
      // other machines would not have been stopped.
      const lateMs = performance.now() - startedMs - (due * 1_000) / perSecond - LATE_MS_MAX;
      if (lateMs > 0) startedMs += lateMs;
      const elapsedMs = performance.now() - startedMs;
      for (; due < Math.min(elapsedMs / 1_000, seconds) * perSecond; due += 1) {
        this.#send(due >= ignoredSeconds * perSecond);
      }
    }
    const untilMs = performance.now() + SETTLE_MS_MAX;
    while (this.#open > 0 && performance.now() < untilMs) await sleep(10);
    this.#result.unanswered += this.#open;
    this.#open = 0;
    return this.#result;
  }

  #send(isCounted: boolean): void {
    // The one that has been idle longest: the service closes connections that stay idle.
    const socket = this.#idle.shift() ?? this.#connect();
    if (isCounted) this.#result.sent += 1;
    if (socket === undefined) {
      this.#result.unanswered += 1;
      return;
    }
    this.#open += 1;
    const sentMs = performance.now();
    const result = this.#result;
    this.#onResponse.set(socket, (response) => {
      this.#idle.push(socket);
      // Too late: it was counted as unanswered.
      if (result !== this.#result) return;
      this.#open -= 1;
      if (isCounted) this.#count(response, performance.now() - sentMs);
    });
    socket.write(this.#client.request);
  }

  #count(response: string, tookMs: number): void {
    const status = Number(response.slice(9, 12));
    (this.#result.responses[status] ??= []).push(tookMs);
  }

  #connect(): Socket | undefined {
    if (this.#connections === CONNECTIONS_MAX) return undefined;
    return this.#use(connect(this.#client.port, '127.0.0.1'));
  }

  #use(socket: Socket): Socket {
    this.#connections += 1;
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
    socket.on('close', () => {
      this.#connections -= 1;
      const at = this.#idle.indexOf(socket);
      if (at !== -1) this.#idle.splice(at, 1);
    });
    return socket;
  }
}

function newResult(): LoadResult {
  return { sent: 0, responses: {}, unanswered: 0 };
}

if (!isMainThread) {
  const loop = new OpenLoop(workerData as Client);
  await loop.connect();
  parentPort?.postMessage('connected');
  parentPort?.on('message', (rate: Rate) => {
    void loop.run(rate).then((result) => parentPort?.postMessage(result));
  });
}
