import type { IdempotencyClaim } from '../../domain/idempotency.ts';
import type { NewPet } from '../../domain/pet.ts';
import type { Creation } from '../../domain/store.ts';
import { Batcher, type Pending } from '../batcher.ts';
import type { Deadline } from '../deadline.ts';
import type { Statement } from './connection.ts';
import type { Past } from './past.ts';
import type { SendCreate } from './rows-by-hand.ts';
import { STATEMENTS } from './statements.ts';

/** A batch is one round trip and one commit: large enough to share them, small enough to respond soon. */
const BATCH_CREATES_MAX = 500;

interface Create {
  pet: NewPet;
  claim: IdempotencyClaim | undefined;
}

type PendingCreate = Pending<Create, Creation>;

/**
 * Batches the creates of this process. One batch in flight is enough: all creates of all processes update
 * the counter one after the other.
 */
export function newCreateBatcher(sendCreate: SendCreate, past: Past): Batcher<Create, Creation> {
  return new Batcher<Create, Creation>({
    batchMax: BATCH_CREATES_MAX,
    send: (batch, deadline) => createBatch({ sendCreate, past }, batch, deadline),
  });
}

/**
 * Stores a batch in one statement. Creates with the same claim are settled together: one of them is sent,
 * and what the database holds for the claim decides about each. Creates whose claims another process has
 * stored meanwhile are sent again, and find those claims.
 */
async function createBatch(
  { sendCreate, past }: { sendCreate: SendCreate; past: Past },
  batch: PendingCreate[],
  deadline: Deadline,
): Promise<void> {
  const send = (statement: Statement, values: unknown[]) => sendCreate(statement, values, deadline);
  if (batch.every(({ item }) => item.claim === undefined)) {
    const [row] = await send(STATEMENTS.createPets, petColumns(batch.map(petOf)));
    const [before] = row as [bigint];
    past.remember(before + BigInt(batch.length));
    batch.forEach(({ item, resolve }, index) => {
      resolve({ kind: 'created', pet: { id: before + BigInt(index + 1), ...item.pet } });
    });
    return;
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
  const rows = await send(STATEMENTS.createPetsWithClaims, values);
  for (const [ordinal, known, id] of rows as [bigint, string | null, bigint][]) {
    // That of the counter, of no create.
    if (ordinal === 0n) continue;
    const index = Number(ordinal) - 1;
    if (known === null) past.remember(id);
    settle(duplicates[index] ?? [], known, id);
    duplicates[index] = [];
  }
  const left = duplicates.flat();
  if (left.length > 0) await createBatch({ sendCreate, past }, left, deadline);
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
