import { createRequire, syncBuiltinESMExports } from 'node:module';

const builtin = createRequire(import.meta.url);
const realSetImmediate = setImmediate;

/** Whoever started a timer: a simulated thread, or the process itself. */
export type Owner = object;

class VirtualTimer {
  readonly callback: () => void;
  readonly delayMs: number;
  readonly isRepeated: boolean;
  readonly owner: Owner;
  readonly #start: (timer: VirtualTimer) => void;
  dueMs = 0;
  isActive = false;

  constructor(
    options: Pick<VirtualTimer, 'callback' | 'delayMs' | 'isRepeated' | 'owner'>,
    start: (timer: VirtualTimer) => void,
  ) {
    ({
      callback: this.callback,
      delayMs: this.delayMs,
      isRepeated: this.isRepeated,
      owner: this.owner,
    } = options);
    this.#start = start;
    start(this);
  }

  refresh(): this {
    this.#start(this);
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

function stop(timer: { isActive: boolean } | undefined): void {
  if (timer !== undefined) timer.isActive = false;
}

/**
 * Time for a whole process: the timers, `performance.now()` and the end of a turn of the event loop. It stands
 * still while code runs, and jumps to the next timer when nothing else is left to do.
 */
export class VirtualTime {
  nowMs = 0;
  /** How long the next turn of the event loop takes that does something at its end. */
  nextTurnMs = (): number => 0;
  #turnEndMs = 0;
  #timers: VirtualTimer[] = [];
  #immediates: { callback: () => void; owner: Owner; isActive: boolean }[] = [];
  readonly #process: Owner = {};
  #owner: Owner = this.#process;
  readonly #ended = new WeakSet<Owner>();

  /** Replaces the timers of this process, for every module that is loaded later or was loaded before. */
  install(): void {
    const start = (callback: () => void, delayMs: number | undefined, isRepeated: boolean) =>
      this.#startTimer(callback, delayMs ?? 0, isRepeated);
    const immediate = (callback: () => void) => {
      const entry = { callback, owner: this.#owner, isActive: true };
      if (this.#immediates.length === 0) this.#turnEndMs = this.nowMs + this.nextTurnMs();
      this.#immediates.push(entry);
      return entry;
    };
    Object.assign(globalThis, {
      setTimeout: (callback: () => void, ms?: number) => start(callback, ms, false),
      setInterval: (callback: () => void, ms?: number) => start(callback, ms, true),
      setImmediate: immediate,
      clearTimeout: stop,
      clearInterval: stop,
      clearImmediate: stop,
    });
    Object.assign(builtin('node:timers/promises') as object, {
      setTimeout: (ms?: number) =>
        new Promise<void>((resolve) => void start(() => resolve(), ms, false)),
      setImmediate: () => new Promise<void>((resolve) => void immediate(() => resolve())),
    });
    syncBuiltinESMExports();
    performance.now = () => this.nowMs;
  }

  /** Forgets everything that was going to happen, as at the end of a process. */
  clear(): void {
    for (const timer of [...this.#timers, ...this.#immediates]) timer.isActive = false;
    this.#timers = [];
    this.#immediates = [];
  }

  /** The owner starts no more timers, not even by code of its own that still runs. */
  end(owner: Owner): void {
    this.#ended.add(owner);
    for (const timer of [...this.#timers, ...this.#immediates]) {
      if (timer.owner === owner) timer.isActive = false;
    }
  }

  /** Timers that `work` starts belong to `owner`, and so do those that they start. */
  runAs<Result>(owner: Owner, work: () => Result): Result {
    const before = this.#owner;
    this.#owner = owner;
    try {
      return work();
    } finally {
      this.#owner = before;
    }
  }

  /** Calls back later, on behalf of nobody. */
  in(delayMs: number, callback: () => void): void {
    this.runAs(this.#process, () => this.#startTimer(callback, delayMs, false));
  }

  /** Runs until `isDone`, at most for this long. Returns whether it is done. */
  async runUntil(isDone: () => boolean, withinMs: number): Promise<boolean> {
    const endMs = this.nowMs + withinMs;
    for (;;) {
      // The real end of a turn: every promise that can be settled is settled.
      await new Promise((resolve) => {
        realSetImmediate(resolve);
      });
      if (isDone()) return true;
      const next = this.#timers.find(({ isActive }) => isActive);
      // What is due before the end of the turn is part of it.
      if ((next?.dueMs ?? Infinity) > this.#turnEndMs && this.#runImmediates()) continue;
      if (next === undefined || next.dueMs > endMs) {
        this.nowMs = endMs;
        return false;
      }
      this.#fire(next);
    }
  }

  #runImmediates(): boolean {
    const immediates = this.#immediates.filter(({ isActive }) => isActive);
    this.#immediates = [];
    if (immediates.length > 0) this.nowMs = Math.max(this.nowMs, this.#turnEndMs);
    for (const entry of immediates) {
      if (entry.isActive) this.runAs(entry.owner, entry.callback);
    }
    return immediates.length > 0;
  }

  #fire(timer: VirtualTimer): void {
    this.nowMs = Math.max(this.nowMs, timer.dueMs);
    timer.isActive = false;
    this.#timers = this.#timers.filter(({ isActive }) => isActive);
    if (timer.isRepeated) timer.refresh();
    this.runAs(timer.owner, timer.callback);
  }

  #startTimer(callback: () => void, delayMs: number, isRepeated: boolean): VirtualTimer {
    const timer = { callback, delayMs: Math.max(1, delayMs), isRepeated, owner: this.#owner };
    return new VirtualTimer(timer, (started) => this.#queue(started));
  }

  /** Timers of the same time fire in the order in which they were started. */
  #queue(timer: VirtualTimer): void {
    this.#timers = this.#timers.filter((each) => each !== timer);
    if (this.#ended.has(timer.owner)) return;
    timer.isActive = true;
    timer.dueMs = this.nowMs + timer.delayMs;
    const at = this.#timers.findIndex(({ dueMs }) => dueMs > timer.dueMs);
    this.#timers.splice(at === -1 ? this.#timers.length : at, 0, timer);
  }
}
