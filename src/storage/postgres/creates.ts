import type { IdempotencyClaim } from '../../domain/idempotency.ts';
import type { NewPet } from '../../domain/pet.ts';
import type { Creation } from '../../domain/store.ts';
import { Batcher, type Pending } from '../batcher.ts';
import type { Deadline } from '../deadline.ts';
import { faultOf, isRepeatable, unavailable } from './errors.ts';
import type { Pool } from './pool.ts';
import { STATEMENTS } from './statements.ts';

/** The most creates that wait. Any further one is refused with `overloaded`. */
const WAITING_MAX = 10_000;
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
    const [row] = await pool.query(STATEMENTS.createPets, petColumns(batch.map(petOf)), deadline);
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
  const values = [...petColumns(sent.map(petOf)), ...claims];
  const rows = await pool.query(STATEMENTS.createPetsWithClaims, values, deadline);
  for (const [ordinal, known, id] of rows as [bigint, string | null, bigint][]) {
    const index = Number(ordinal) - 1;
    settle(duplicates[index] ?? [], known, id);
    duplicates[index] = [];
  }
  return duplicates.flat();
}

const petOf = ({ item }: PendingCreate) => item.pet;

/** One array per column, as the statements that store animals take them. */
export function petColumns(pets: readonly NewPet[]): unknown[] {
  return [
    pets.map(({ name }) => name),
    pets.map(({ categoryId }) => categoryId),
    pets.map(({ status }) => status),
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
