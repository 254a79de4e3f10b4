import { getCompileCacheDir } from 'node:module';
import { Worker } from 'node:worker_threads';
import { Refusal } from '../../domain/errors.ts';
import { gather, gatherMs } from '../gather.ts';
import type { Outcome, Write } from './writer.ts';
import type { Writes } from './writes.ts';

/** What may wait for the disk at once. Beyond it a caller hears `overloaded` immediately. */
const WAITING_WRITES_MAX = 10_000;
/** A batch is one commit: long enough to share an fsync among many, short enough to answer soon. */
const BATCH_WRITES_MAX = 1_000;

interface WaitingWrite {
  write: Write;
  resolve: (value: unknown) => void;
  reject: (reason: Error) => void;
}

/**
 * Hands writes to the writer thread. What arrives while a commit is on its way waits and goes into the
 * next one together, so that the number of commits does not grow with the number of callers.
 */
export class WriteQueue {
  readonly #file: string;
  #writer: Worker | undefined;
  #waiting: WaitingWrite[] = [];
  #committing: WaitingWrite[] = [];
  #isScheduled = false;
  #sentAtMs = 0;
  #gatherMs = 0;
  #whenIdle: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(file: string) {
    this.#file = file;
    this.#writer = this.#startWriter();
  }

  add<Name extends keyof Writes>(
    name: Name,
    ...values: Parameters<Writes[Name]>
  ): Promise<ReturnType<Writes[Name]>> {
    return new Promise((resolve, reject) => {
      if (this.#closing !== undefined) {
        reject(unwritable(new Error('the store is closed')));
        return;
      }
      if (this.#waiting.length >= WAITING_WRITES_MAX) {
        reject(new Refusal('overloaded', 'Too many writes are waiting; try again shortly.'));
        return;
      }
      this.#waiting.push({
        write: { name, with: values } as Write,
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      this.#commitSoon();
    });
  }

  /** Commits what was accepted, then ends the thread. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#committing.length > 0 || this.#waiting.length > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
    }
    const writer = this.#writer;
    if (writer === undefined) return;
    this.#writer = undefined;
    const ended = new Promise((resolve) => {
      writer.once('exit', resolve);
    });
    writer.postMessage('close');
    await ended;
  }

  #startWriter(): Worker {
    const writer = new Worker(new URL('./writer.ts', import.meta.url), {
      workerData: { file: this.#file },
      // Compiled code is kept for a thread too, but only where it is told the folder.
      env: { NODE_COMPILE_CACHE: getCompileCacheDir() ?? '' },
    });
    writer.on('message', (outcomes: Outcome[]) => this.#settle(outcomes));
    writer.once('error', (fault: unknown) => this.#writerDied(writer, fault));
    writer.once('exit', () => this.#writerDied(writer, new Error('the writer thread ended')));
    return writer;
  }

  /** Not at once: what arrives in the same turn of the event loop goes together. */
  #commitSoon(): void {
    if (this.#isScheduled || this.#committing.length > 0) return;
    if (this.#waiting.length === 0) {
      this.#whenIdle?.();
      return;
    }
    this.#isScheduled = true;
    gather(this.#gatherMs, () => this.#commitNext());
  }

  #commitNext(): void {
    this.#isScheduled = false;
    this.#sentAtMs = performance.now();
    this.#committing = this.#waiting.splice(0, BATCH_WRITES_MAX);
    this.#writer ??= this.#startWriter();
    this.#writer.postMessage(this.#committing.map(({ write }) => write));
  }

  #settle(outcomes: Outcome[]): void {
    const settled = this.#committing;
    this.#committing = [];
    const tookMs = performance.now() - this.#sentAtMs;
    this.#gatherMs = gatherMs({ writes: settled.length, tookMs });
    const fault = outcomes.find((outcome) => 'fault' in outcome && outcome.isOfFile);
    // Whoever waits has waited as long already, and would only meet the same fault after as long again.
    if (fault !== undefined) this.#rejectWaiting(fault);
    this.#commitSoon();
    for (const [index, { resolve, reject }] of settled.entries()) {
      const outcome = outcomes[index];
      if (outcome !== undefined && 'value' in outcome) resolve(outcome.value);
      else reject(unwritable(outcome?.fault));
    }
  }

  #rejectWaiting(cause: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(unwritable(cause));
  }

  /** Whether the batch was committed is unknown now, and the next write gets a new thread. */
  #writerDied(writer: Worker, fault: unknown): void {
    if (this.#writer !== writer) return;
    this.#writer = undefined;
    const lost = this.#committing;
    this.#committing = [];
    for (const { reject } of lost) reject(unwritable(fault));
    this.#commitSoon();
  }
}

function unwritable(cause: unknown): Refusal {
  return new Refusal('unavailable', 'The store cannot be written right now; try again shortly.', {
    cause,
  });
}
