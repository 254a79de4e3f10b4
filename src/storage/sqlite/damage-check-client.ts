import type { Worker } from 'node:worker_threads';
import type { CheckResult } from './damage-check.ts';
import type { FileIdentity } from './file-identity.ts';
import { startSqliteThread } from './thread.ts';

export interface CheckEvents {
  onWarning: (message: string) => void;
  onFatal: (reason: string) => void;
}

/** Has a thread of its own check a file that SQLite has called malformed. */
export class DamageCheckClient {
  readonly #opened: FileIdentity;
  readonly #events: CheckEvents;
  #thread: Worker | undefined;
  /** Why the file may be damaged, until a check has found it intact. */
  #suspicion: string | undefined;

  constructor(opened: FileIdentity, events: CheckEvents) {
    this.#opened = opened;
    this.#events = events;
  }

  get suspicion(): string | undefined {
    return this.#suspicion;
  }

  begin(reason: string): void {
    if (this.#suspicion !== undefined) return;
    this.#suspicion = reason;
    this.#thread = startSqliteThread('./damage-check.ts', this.#opened);
    this.#thread.unref();
    this.#thread.on('message', (result: CheckResult) => this.#receive(result));
    this.#thread.once('error', (error: unknown) =>
      this.#events.onFatal(`the check has ended (${String(error)}): start the service again.`),
    );
  }

  close(): void {
    void this.#thread?.terminate();
  }

  #receive({ fault, isDamaged }: CheckResult): void {
    const { onWarning, onFatal } = this.#events;
    const before = this.#suspicion;
    this.#suspicion = fault;
    if (isDamaged) onFatal(`the file is damaged (${fault}): restore a backup.`);
    else if (fault === undefined)
      onWarning(`a read or write failed (${before}): the file is intact`);
    else if (fault !== before) onWarning(`the file may be damaged (${fault}): it is checked again`);
  }
}
