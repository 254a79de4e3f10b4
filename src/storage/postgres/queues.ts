// The two queues between the store and its connections. Each turns the calls of many callers into few
// statements, and refuses callers beyond its limit.

import type { IdempotencyClaim } from '../../domain/idempotency.ts';
import { Refusal } from '../../domain/errors.ts';
import { gauge, type Figure } from '../../domain/metrics.ts';
import type { NewPet } from '../../domain/pet.ts';
import type { Creation } from '../../domain/store.ts';
import { Batcher, deadlineIn, type Deadline, type Pending } from '../batcher.ts';
import { type Row, type Statement } from './connection.ts';
import { faultOf, isRepeatable, unavailable, withRetries } from './errors.ts';
import type { Pool } from './pool.ts';
import { CREATE_PETS, CREATE_PETS_WITH_CLAIMS } from './statements.ts';

/** The most callers that wait in each queue. Any further caller is refused with `overloaded`. */
const WAITING_MAX = 10_000;
/** One for creates, one for writes of keys, imports and budgets. */
const CONNECTIONS_FOR_WRITES = 2;

interface WaitingRead {
  statement: Statement;
  values: unknown[];
  deadline: Deadline;
  callers: { resolve: (rows: Row[]) => void; reject: (reason: Error) => void }[];
}

/**
 * Callers that wait for the same read share one query. No caller joins a query that was already sent,
 * because it might not see what was stored in between.
 */
export class SharedReads {
  readonly #pool: Pool;
  readonly #callTimeoutMs: number;
  readonly #inFlightMax: number;
  readonly #waiting = new Map<string, WaitingRead>();
  #callersWaiting = 0;
  readonly #inFlight = new Set<Promise<void>>();
  #isScheduled = false;

  constructor(pool: Pool, callTimeoutMs: number) {
    this.#pool = pool;
    this.#callTimeoutMs = callTimeoutMs;
    this.#inFlightMax = Math.max(1, pool.connectionsMax - CONNECTIONS_FOR_WRITES);
  }

  query(statement: Statement, values: unknown[]): Promise<Row[]> {
    if (this.#callersWaiting >= WAITING_MAX) {
      const message = 'Too many reads are waiting; try again shortly.';
      return Promise.reject(new Refusal('overloaded', message));
    }
    return new Promise((resolve, reject) => {
      const name = [statement.name, ...values].join('\n');
      let read = this.#waiting.get(name);
      if (read === undefined) {
        const deadline = deadlineIn(this.#callTimeoutMs);
        read = { statement, values, deadline, callers: [] };
        this.#waiting.set(name, read);
      }
      read.callers.push({ resolve, reject });
      this.#callersWaiting += 1;
      this.#schedule();
    });
  }

  figures(): Figure[] {
    const help = 'Reads that wait for a connection.';
    return [gauge('petstore_reads_waiting', help, this.#callersWaiting)];
  }

  /** Resolves when everything that was accepted is settled. */
  async idle(): Promise<void> {
    while (this.#waiting.size > 0 || this.#inFlight.size > 0) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      await Promise.all(this.#inFlight);
    }
  }

  /** Reads of the same turn of the event loop are sent together. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sendWaiting();
    });
  }

  #sendWaiting(): void {
    for (const [name, read] of this.#waiting) {
      if (this.#inFlight.size >= this.#inFlightMax) return;
      this.#waiting.delete(name);
      this.#callersWaiting -= read.callers.length;
      const settled = this.#settle(read).finally(() => {
        this.#inFlight.delete(settled);
        this.#sendWaiting();
      });
      this.#inFlight.add(settled);
    }
  }

  /** Settles every caller; never throws. */
  async #settle({ statement, values, deadline, callers }: WaitingRead): Promise<void> {
    try {
      const rows = await withRetries(
        () => this.#pool.query(statement, values, deadline),
        // A read can be repeated also when the outcome of the first attempt is unknown.
        (fault) => fault === 'unknown' || isRepeatable(fault),
      );
      for (const { resolve } of callers) resolve(rows);
    } catch (error) {
      for (const { reject } of callers) reject(error as Error);
    }
  }
}

/** A batch is one round trip and one commit: large enough to share them, small enough to respond soon. */
const BATCH_CREATES_MAX = 500;
/** A create with less time left than this is refused: its outcome might stay unknown. */
const SEND_TIME_MIN_MS = 1_000;

interface Create {
  pet: NewPet;
  claim: IdempotencyClaim | undefined;
}

type PendingCreate = Pending<Create, Creation>;

/**
 * Batches the creates of this process. One batch in flight is enough: all creates of all processes update
 * the counter one after the other.
 */
export function newCreateBatcher(pool: Pool, timeoutMs: number): Batcher<Create, Creation> {
  return new Batcher<Create, Creation>({
    what: 'creates',
    waitingMax: WAITING_MAX,
    batchMax: BATCH_CREATES_MAX,
    timeoutMs,
    sendTimeMinMs: SEND_TIME_MIN_MS,
    send: (batch, deadline) => createBatch(pool, batch, deadline),
    isItemError: (error) => faultOf(error) === 'faulty',
    // After an unknown outcome only a claim makes it safe to send the create again: without one, the
    // animal might be stored twice.
    isRepeatable: (error, { claim }) => {
      const fault = faultOf(error);
      return isRepeatable(fault) || (fault === 'unknown' && claim !== undefined);
    },
    refusal: unavailable,
  });
}

/**
 * Stores a batch in one statement. Creates with the same claim are settled together: one of them is sent,
 * and what the database holds for the claim decides about each. Returns the creates whose claims another
 * process has stored meanwhile; sent again, they find those claims.
 */
async function createBatch(
  pool: Pool,
  batch: PendingCreate[],
  deadline: Deadline,
): Promise<PendingCreate[]> {
  if (batch.every(({ item }) => item.claim === undefined)) {
    const [row] = await pool.query(CREATE_PETS, petColumns(batch), deadline);
    const [before] = row as [bigint];
    batch.forEach(({ item, resolve }, index) => {
      resolve({ kind: 'created', pet: { id: before + BigInt(index + 1), ...item.pet } });
    });
    return [];
  }
  const duplicates = [...Map.groupBy(batch, claimName).values()];
  const sent = duplicates.flatMap(([first]) => first ?? []);
  const claims = [
    sent.map(({ item }) => item.claim?.apiKeyId),
    sent.map(({ item }) => item.claim?.key),
    sent.map(({ item }) => item.claim?.fingerprint),
    sent.map(({ item }) => item.claim?.now.getTime()),
    sent.map(({ item }) => item.claim?.expiresAt.getTime()),
  ];
  const values = [...petColumns(sent), ...claims];
  const rows = await pool.query(CREATE_PETS_WITH_CLAIMS, values, deadline);
  for (const [ordinal, known, id] of rows as [bigint, string | null, bigint][]) {
    const index = Number(ordinal) - 1;
    settle(duplicates[index] ?? [], known, id);
    duplicates[index] = [];
  }
  return duplicates.flat();
}

function petColumns(batch: PendingCreate[]): unknown[] {
  return [
    batch.map(({ item }) => item.pet.name),
    batch.map(({ item }) => item.pet.categoryId),
    batch.map(({ item }) => item.pet.status),
  ];
}

/** Equal for creates with the same claim, and unique for a create without one. */
function claimName(pending: PendingCreate): unknown {
  const { claim } = pending.item;
  return claim === undefined ? pending : JSON.stringify([claim.apiKeyId, claim.key]);
}

/** Resolves the creates of one claim. `known` is its fingerprint if the claim was stored before. */
function settle(duplicates: PendingCreate[], known: string | null, id: bigint): void {
  const fingerprint = known ?? duplicates[0]?.item.claim?.fingerprint;
  for (const [index, { item, resolve }] of duplicates.entries()) {
    const pet = { id, ...item.pet };
    if (known === null && index === 0) resolve({ kind: 'created', pet });
    else if (item.claim?.fingerprint === fingerprint) resolve({ kind: 'replayed', pet });
    else resolve({ kind: 'claim_conflict' });
  }
}
