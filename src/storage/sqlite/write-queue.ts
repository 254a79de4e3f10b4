import { getCompileCacheDir } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Refusal } from '../../domain/errors.ts';
import { gather, gatherMs } from '../gather.ts';
import { isCorrupt, unwritable } from './faults.ts';
import type { FileIdentity } from './identity.ts';
import { endInSpiteOf, newBusyFlag } from './thread-exit.ts';
import type { Outcome, Write, WriterData } from './writer.ts';
import type { Writes } from './writes.ts';

/** What may wait for the disk at once. Beyond it a caller hears `overloaded` immediately. */
const WAITING_WRITES_MAX = 10_000;
/** A batch is one commit: long enough to share an fsync among many, short enough to answer soon. */
const BATCH_WRITES_MAX = 1_000;
/** Every write is settled within this time, as on PostgreSQL. */
const WRITE_TIMEOUT_MS = 4_000;
/** How long the thread may take to close the file once everything is settled. */
const CLOSE_TIMEOUT_MS = 1_000;

interface WaitingWrite {
  write: Write;
  deadlineMs: number;
  resolve: (value: unknown) => void;
  reject: (reason: Error) => void;
}

/** What the store must know beyond the refusals of single writes. */
export interface WriteQueueEvents {
  onFileFault(fault: string, isCorrupt: boolean): void;
  onStuck(): void;
}

/**
 * Hands writes to the writer thread. What arrives while a commit is on its way waits and goes into the
 * next one together, so that the number of commits does not grow with the number of callers.
 */
export class WriteQueue {
  readonly #opened: FileIdentity;
  readonly #events: WriteQueueEvents;
  #writer: Worker | undefined;
  #waiting: WaitingWrite[] = [];
  #committing: WaitingWrite[] = [];
  #isScheduled = false;
  /** The batch on its way has passed its deadline, and the thread cannot be reached before the disk responds. */
  #isStuck = false;
  #deadlineTimer: NodeJS.Timeout | undefined;
  #sentAtMs = 0;
  #gatherMs = 0;
  #whenIdle: (() => void) | undefined;
  #ending: Promise<void> | undefined;

  constructor(opened: FileIdentity, events: WriteQueueEvents) {
    this.#opened = opened;
    this.#events = events;
    this.#writer = this.#startWriter();
  }

  get isStuck(): boolean {
    return this.#isStuck;
  }

  add<Name extends keyof Writes>(
    name: Name,
    ...values: Parameters<Writes[Name]>
  ): Promise<ReturnType<Writes[Name]>> {
    return new Promise((resolve, reject) => {
      if (this.#ending !== undefined) {
        reject(unwritable(new Error('the store is closed')));
        return;
      }
      if (this.#isStuck) {
        reject(unwritable(overdue()));
        return;
      }
      if (this.#waiting.length >= WAITING_WRITES_MAX) {
        reject(new Refusal('overloaded', 'Too many writes are waiting; try again shortly.'));
        return;
      }
      this.#waiting.push({
        write: { name, with: values } as Write,
        deadlineMs: performance.now() + WRITE_TIMEOUT_MS,
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      this.#deadlineTimer ??= setTimeout(() => this.#refuseOverdue(), WRITE_TIMEOUT_MS);
      this.#commitSoon();
    });
  }

  /** Commits what was accepted, then ends the thread; does not wait for a disk that hangs. */
  async close(): Promise<void> {
    const settledMs = this.#isStuck ? 0 : WRITE_TIMEOUT_MS;
    const overdueEnd = sleep(settledMs + CLOSE_TIMEOUT_MS, undefined, { ref: false });
    await Promise.race([this.#end(), overdueEnd]);
    this.#writer?.unref();
  }

  /** Refuses what waits, and resolves when the thread has let go of the file. */
  discard(cause: unknown): Promise<void> {
    this.#rejectWaiting(cause);
    return this.#end();
  }

  #end(): Promise<void> {
    this.#ending ??= this.#endThread();
    return this.#ending;
  }

  async #endThread(): Promise<void> {
    if (this.#committing.length + this.#waiting.length > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
    }
    clearTimeout(this.#deadlineTimer);
    const writer = this.#writer;
    if (writer === undefined) return;
    const ended = new Promise<void>((resolve) => {
      writer.once('exit', () => resolve());
    });
    writer.postMessage('close');
    await ended;
  }

  #startWriter(): Worker {
    const isBusy = newBusyFlag();
    const writer = new Worker(new URL('./writer.ts', import.meta.url), {
      workerData: { opened: this.#opened, isBusy } satisfies WriterData,
      // Compiled code is kept for a thread too, but only where it is told the folder.
      env: { NODE_COMPILE_CACHE: getCompileCacheDir() ?? '' },
    });
    endInSpiteOf(writer, isBusy);
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
    if (this.#waiting.length === 0) {
      this.#whenIdle?.();
      return;
    }
    this.#sentAtMs = performance.now();
    this.#committing = this.#waiting.splice(0, BATCH_WRITES_MAX);
    this.#writer ??= this.#startWriter();
    this.#writer.postMessage(this.#committing.map(({ write }) => write));
  }

  #settle(outcomes: Outcome[]): void {
    const settled = this.#committing;
    this.#committing = [];
    this.#isStuck = false;
    const tookMs = performance.now() - this.#sentAtMs;
    this.#gatherMs = gatherMs({ writes: settled.length, tookMs });
    const failed = outcomes.find((outcome) => 'fault' in outcome && outcome.of !== 'write');
    if (failed !== undefined && 'fault' in failed) {
      // What waits has waited as long already, and would only meet the same fault after as long again.
      this.#rejectWaiting(failed.fault);
      this.#events.onFileFault(failed.fault, failed.of === 'corrupt file');
    }
    this.#commitSoon();
    for (const [index, { resolve, reject }] of settled.entries()) {
      const outcome = outcomes[index];
      if (outcome !== undefined && 'value' in outcome) resolve(outcome.value);
      else reject(unwritable(outcome?.fault));
    }
  }

  /** What is on its way may still be stored after it was refused; nothing else is sent until it is settled. */
  #refuseOverdue(): void {
    this.#deadlineTimer = undefined;
    const nowMs = performance.now();
    if ((this.#committing[0]?.deadlineMs ?? Infinity) <= nowMs) {
      this.#isStuck = true;
      for (const { reject } of this.#committing) reject(unwritable(overdue()));
      this.#rejectWaiting(overdue());
      this.#events.onStuck();
      return;
    }
    const inTime = this.#waiting.findIndex(({ deadlineMs }) => deadlineMs > nowMs);
    const late = this.#waiting.splice(0, inTime === -1 ? this.#waiting.length : inTime);
    for (const { reject } of late) reject(unwritable(overdue()));
    const [next] = [...this.#committing.slice(0, 1), ...this.#waiting.slice(0, 1)];
    if (next === undefined) return;
    const waitMs = next.deadlineMs - nowMs;
    this.#deadlineTimer = setTimeout(() => this.#refuseOverdue(), waitMs);
  }

  #rejectWaiting(cause: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(unwritable(cause));
  }

  /** Whether the batch was committed is unknown now, and the next write gets a new thread. */
  #writerDied(writer: Worker, fault: unknown): void {
    if (this.#writer !== writer) return;
    this.#writer = undefined;
    this.#isStuck = false;
    const lost = this.#committing;
    this.#committing = [];
    for (const { reject } of lost) reject(unwritable(fault));
    if (this.#ending === undefined) this.#events.onFileFault(String(fault), isCorrupt(fault));
    this.#commitSoon();
  }
}

function overdue(): Error {
  return new Error(`the disk has not confirmed a commit within ${WRITE_TIMEOUT_MS} ms`);
}
