import { rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Store } from '../../src/domain/store.ts';
import { openSqliteStore } from '../../src/storage/sqlite/store.ts';
import { closeDatabases } from './database.ts';
import type { Row } from './model.ts';
import { SimulatedService, type ServiceParts } from './service.ts';
import { SERVICES } from './story.ts';
import type { VirtualTime } from './virtual-time.ts';

/** Every response must be there within this time, and every part opened or closed. */
export const PATIENCE_MS = 60_000;
const STARTS_MAX = 5;
const SELECT_ALL = 'SELECT id, name, category_id AS categoryId, status FROM pets ORDER BY id';

export type Outcome<Value> = { value: Value } | { error: unknown };

/** The processes that have the file open: the services, and one that runs commands. */
export class Processes {
  readonly #parts: ServiceParts;
  /** A store has failed: its process ends, and whoever runs it starts it again. */
  hasFailed = false;
  readonly #time: VirtualTime;
  #services: SimulatedService[] = [];
  #commandStore: Store | undefined;
  #observer: StatementSync | undefined;

  constructor(parts: Omit<ServiceParts, 'onFatal'>, time: VirtualTime, emptyStore: Buffer) {
    const onFatal = () => {
      this.hasFailed = true;
    };
    this.#parts = { ...parts, onFatal };
    this.#time = time;
    writeFileSync(parts.file, emptyStore);
  }

  service(index: number): SimulatedService {
    const service = this.#services[index];
    if (service === undefined) throw new Error('the service does not run');
    return service;
  }

  async start(count = SERVICES): Promise<void> {
    let lastError: unknown;
    // A fault may end a start. Whoever runs the service then starts it again.
    for (let starts = 0; starts < STARTS_MAX; starts += 1) {
      const opened = await this.#outcomeOf(() =>
        Promise.all(Array.from({ length: count }, () => SimulatedService.open(this.#parts))),
      );
      if ('value' in opened) {
        this.#services = opened.value;
        return;
      }
      lastError = opened.error;
      this.end();
    }
    throw new Error('the service does not start', { cause: lastError });
  }

  async restart(): Promise<void> {
    for (const part of [...this.#services, this.#commandStore]) {
      if (part !== undefined) await this.#outcomeOf(() => part.close());
    }
    this.end();
    await this.start();
  }

  /** Ends all processes at once. What they were going to do is forgotten. */
  end(): void {
    this.hasFailed = false;
    this.#services = [];
    this.#commandStore = undefined;
    this.#observer = undefined;
    // Of threads that have not ended by themselves.
    process.removeAllListeners('exit');
    this.#time.clear();
    closeDatabases();
  }

  remove(): void {
    this.end();
    for (const suffix of ['', '-wal', '-shm']) {
      rmSync(`${this.#parts.file}${suffix}`, { force: true });
    }
  }

  command<Value>(work: (store: Store) => Promise<Value>): Promise<Outcome<Value>> {
    const { file, onFatal } = this.#parts;
    return this.#outcomeOf(async () => {
      this.#commandStore ??= openSqliteStore(file, { onFatal });
      return work(this.#commandStore);
    });
  }

  /** What the file has, read without the store. */
  observe(): Row[] {
    const { file } = this.#parts;
    this.#observer ??= new DatabaseSync(file, { readBigInts: true }).prepare(SELECT_ALL);
    // Not all(), which the faults are for.
    return [...this.#observer.iterate()] as unknown as Row[];
  }

  async #outcomeOf<Value>(work: () => Promise<Value>): Promise<Outcome<Value>> {
    const settled: { outcome?: Outcome<Value> } = {};
    void (async () => {
      try {
        settled.outcome = { value: await work() };
      } catch (error) {
        settled.outcome = { error };
      }
    })();
    await this.#time.runUntil(() => settled.outcome !== undefined, PATIENCE_MS);
    if (settled.outcome === undefined) throw new Error('something neither succeeded nor failed');
    return settled.outcome;
  }
}
