import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes, syncBuiltinESMExports } from 'node:module';
import { closeDatabases, simulated, type Thread } from './database.ts';
import type { VirtualTime } from './virtual-time.ts';

const WRITER = new URL('../../src/storage/sqlite/writer.ts', import.meta.url);
const IMPORT = /^import\s+\{([^}]*)\}\s+from\s+'([^']+)';/gm;

type Modules = Record<string, object>;

/** Where the simulated threads get their delays and faults from. */
export interface ThreadRuntime {
  time: VirtualTime;
  /** How long the next message takes. */
  nextDelayMs: () => number;
}

let runWriter: (modules: Modules) => void;
const modules: Modules = {};
let runtime: ThreadRuntime;

/**
 * Makes every thread that is started later a part of this thread. The source of the writer runs unchanged, once
 * for each thread, as a function whose parameters are its imports.
 */
export async function installThreads(used: ThreadRuntime): Promise<void> {
  runtime = used;
  const source = stripTypeScriptTypes(readFileSync(WRITER, 'utf8'));
  for (const [, , from = ''] of source.matchAll(IMPORT)) {
    modules[from] = (await import(
      from.startsWith('.') ? new URL(from, WRITER).href : from
    )) as object;
  }
  const body = source.replace(IMPORT, (_, names: string, from: string) => {
    return `const {${names}} = modules['${from}'];`;
  });
  // oxlint-disable-next-line typescript/no-implied-eval -- the source is a file of this program
  runWriter = new Function('modules', `'use strict';${body}`) as typeof runWriter;
  const threads = createRequire(import.meta.url)('node:worker_threads') as { Worker: unknown };
  threads.Worker = SimulatedThread;
  syncBuiltinESMExports();
}

/** The part of Worker that the store uses. Messages are copied and take time, as between real threads. */
class SimulatedThread extends EventEmitter implements Thread {
  delayMs = 0;
  readonly #port = new EventEmitter();
  #isAlive = true;
  #isOpen = false;
  #waiting: unknown[] = [];

  constructor(_script: URL, { workerData }: { workerData: object }) {
    super();
    const copy = structuredClone(workerData);
    runtime.time.in(runtime.nextDelayMs(), () => this.#run(() => this.#open(copy)));
  }

  postMessage(message: unknown): void {
    this.#waiting.push(structuredClone(message));
    if (this.#isOpen) this.#deliver();
  }

  unref(): void {
    // Virtual time does not wait for threads.
  }

  /** Ends at once, as if the process had killed it: it sends nothing more. */
  die(): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    runtime.time.end(this);
    runtime.time.in(runtime.nextDelayMs(), () => {
      closeDatabases(this);
      this.emit('exit', 1);
    });
  }

  #open(workerData: object): void {
    const parentPort = {
      on: (name: string, listener: (message: unknown) => void) => this.#port.on(name, listener),
      postMessage: (message: unknown) => this.#send(message),
      close: () => this.#close(),
    };
    try {
      const threads = { parentPort, workerData };
      runWriter({ ...modules, 'node:worker_threads': threads });
      this.#isOpen = true;
      this.#deliver();
    } catch (error) {
      runtime.time.in(runtime.nextDelayMs(), () => this.emit('error', error));
      this.die();
    }
  }

  #deliver(): void {
    for (const message of this.#waiting.splice(0)) {
      runtime.time.in(runtime.nextDelayMs(), () =>
        this.#run(() => this.#port.emit('message', message)),
      );
    }
  }

  #send(message: unknown): void {
    const copy = structuredClone(message);
    const delayMs = runtime.nextDelayMs() + this.delayMs;
    this.delayMs = 0;
    runtime.time.in(delayMs, () => {
      if (this.#isAlive) this.emit('message', copy);
    });
  }

  #close(): void {
    this.#isAlive = false;
    runtime.time.end(this);
    runtime.time.in(runtime.nextDelayMs(), () => this.emit('exit', 0));
  }

  #run(work: () => void): void {
    if (!this.#isAlive) return;
    const before = simulated.thread;
    simulated.thread = this;
    try {
      runtime.time.runAs(this, work);
    } finally {
      simulated.thread = before;
    }
  }
}
