import type { IdempotencyClaim } from '../../domain/idempotency.ts';
import type { NewPet } from '../../domain/pet.ts';
import type { Creation } from '../../domain/store.ts';
import { petOfRow, type PetRow } from '../rows.ts';
import type { Deadline } from './deadline.ts';
import type { Pool } from './pool.ts';
import { CREATE_PETS, CREATE_PETS_WITH_CLAIMS, FIND_CLAIMS } from './statements.ts';

export interface WaitingCreate {
  pet: NewPet;
  claim: IdempotencyClaim | undefined;
  deadline: Deadline;
  resolve: (creation: Creation) => void;
  reject: (reason: Error) => void;
}

/**
 * Stores a batch in one statement, and resolves the callers whose animals were stored. Answers the
 * others: their claims are known already. Throws when nothing is known of any.
 */
export async function createBatch(
  pool: Pool,
  batch: WaitingCreate[],
  deadline: Deadline,
): Promise<WaitingCreate[]> {
  const pets = [
    batch.map(({ pet }) => pet.name),
    batch.map(({ pet }) => pet.categoryId),
    batch.map(({ pet }) => pet.status),
  ];
  if (batch.every(({ claim }) => claim === undefined)) {
    const [row] = await pool.query(CREATE_PETS, pets, deadline);
    const [before] = row as [bigint];
    batch.forEach((create, index) => resolveCreated(create, before + BigInt(index + 1)));
    return [];
  }
  const claims = [
    batch.map(({ claim }) => claim?.apiKeyId),
    batch.map(({ claim }) => claim?.key),
    batch.map(({ claim }) => claim?.fingerprint),
    batch.map(({ claim }) => claim?.now.getTime()),
    batch.map(({ claim }) => claim?.expiresAt.getTime()),
  ];
  const rows = await pool.query(CREATE_PETS_WITH_CLAIMS, [...pets, ...claims], deadline);
  const known = new Set(batch);
  for (const [ordinal, id] of rows as [bigint, bigint][]) {
    const create = batch[Number(ordinal) - 1];
    if (create === undefined) continue;
    known.delete(create);
    resolveCreated(create, id);
  }
  return [...known];
}

/**
 * Resolves creates whose claims are known with what those made. Answers the ones still open: their
 * claims were known a moment ago and are gone now.
 */
export async function replayKnown(
  pool: Pool,
  known: WaitingCreate[],
  deadline: Deadline,
): Promise<WaitingCreate[]> {
  const values = [
    known.map(({ claim }) => claim?.apiKeyId),
    known.map(({ claim }) => claim?.key),
    known.map(({ claim }) => claim?.now.getTime()),
  ];
  const rows = await pool.query(FIND_CLAIMS, values, deadline);
  const open = new Set(known);
  for (const [ordinal, fingerprint, ...pet] of rows as [bigint, string, ...PetRow][]) {
    const create = known[Number(ordinal) - 1];
    if (create === undefined) continue;
    open.delete(create);
    create.resolve(creationOf(create, fingerprint, pet));
  }
  return [...open];
}

function creationOf({ claim }: WaitingCreate, fingerprint: string, pet: PetRow): Creation {
  if (claim?.fingerprint !== fingerprint) return { kind: 'claim_conflict' };
  return { kind: 'replayed', pet: petOfRow(pet) };
}

function resolveCreated({ pet, resolve }: WaitingCreate, id: bigint): void {
  const { name, categoryId, status } = pet;
  resolve({ kind: 'created', pet: { id, name, categoryId, status } });
}
