import type { IdempotencyClaim } from '../../domain/idempotency.ts';
import type { NewPet, Pet } from '../../domain/pet.ts';
import type { Creation } from '../../domain/store.ts';
import { petOfRow, type PetRow } from '../rows.ts';
import type { Deadline } from './connection.ts';
import type { Pool } from './pool.ts';
import { CREATE_PETS, CREATE_PETS_WITH_CLAIMS } from './statements.ts';

export interface WaitingCreate {
  pet: NewPet;
  claim: IdempotencyClaim | undefined;
  deadline: Deadline;
  resolve: (creation: Creation) => void;
  reject: (reason: Error) => void;
}

/**
 * Stores a batch in one statement and resolves its callers. Creates under the same claim are settled
 * together: one animal is sent for them, and what the store has for the claim decides about each. Returns
 * the creates that are still open, because another process took their claims meanwhile; sent again, they
 * find out. Throws when nothing is known of any.
 */
export async function createBatch(
  pool: Pool,
  batch: WaitingCreate[],
  deadline: Deadline,
): Promise<WaitingCreate[]> {
  if (batch.every(({ claim }) => claim === undefined)) {
    const [row] = await pool.query(CREATE_PETS, petColumns(batch), deadline);
    const [before] = row as [bigint];
    batch.forEach(({ pet, resolve }, index) => {
      const { name, categoryId, status } = pet;
      const id = before + BigInt(index + 1);
      resolve({ kind: 'created', pet: { id, name, categoryId, status } });
    });
    return [];
  }
  const duplicates = [...Map.groupBy(batch, claimName).values()];
  const sent = duplicates.flatMap(([first]) => first ?? []);
  const claims = [
    sent.map(({ claim }) => claim?.apiKeyId),
    sent.map(({ claim }) => claim?.key),
    sent.map(({ claim }) => claim?.fingerprint),
    sent.map(({ claim }) => claim?.now.getTime()),
    sent.map(({ claim }) => claim?.expiresAt.getTime()),
  ];
  const rows = await pool.query(
    CREATE_PETS_WITH_CLAIMS,
    [...petColumns(sent), ...claims],
    deadline,
  );
  for (const [ordinal, known, ...pet] of rows as [bigint, string | null, ...PetRow][]) {
    const index = Number(ordinal) - 1;
    settle(duplicates[index] ?? [], known, petOfRow(pet));
    duplicates[index] = [];
  }
  return duplicates.flat();
}

function petColumns(creates: WaitingCreate[]): unknown[] {
  return [
    creates.map(({ pet }) => pet.name),
    creates.map(({ pet }) => pet.categoryId),
    creates.map(({ pet }) => pet.status),
  ];
}

/** Equal for creates under the same claim; a create without one is alone. */
function claimName(create: WaitingCreate): unknown {
  const { claim } = create;
  return claim === undefined ? create : JSON.stringify([claim.apiKeyId, claim.key]);
}

/** Resolves the creates of one claim: `known` is its fingerprint where it was stored before. */
function settle(duplicates: WaitingCreate[], known: string | null, pet: Pet): void {
  const [first, ...others] = duplicates;
  const fingerprint = known ?? first?.claim?.fingerprint;
  if (known === null) first?.resolve({ kind: 'created', pet });
  for (const { claim, resolve } of known === null ? others : duplicates) {
    const isSame = claim?.fingerprint === fingerprint;
    resolve(isSame ? { kind: 'replayed', pet: { ...pet } } : { kind: 'claim_conflict' });
  }
}
