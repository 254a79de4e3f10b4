import type { ApiKey } from './api-key.ts';
import type { IdempotencyClaim } from './idempotency.ts';
import type { NewPet, Pet, PetStatus } from './pet.ts';

/**
 * The shelf: where animals and keys are kept. What follows is promised by every store, and
 * storage/store.contract.ts holds each of them to it.
 *
 * - A promise that resolves tells of something durable: it survives the death of the process and of the
 *   machine's power.
 * - The order of ids is the order of commits, with any number of processes. Whoever has read up to an id
 *   will never find a lower one later.
 * - A read sees every create that was acknowledged, by any process, before the read was asked for.
 * - Faults are Refusals: `unavailable` when the database cannot be reached or written, `overloaded` when
 *   more waits than the store will hold. After either, a create may be repeated with its claim.
 */
export interface Store {
  /**
   * Stores one animal. With a claim, the animal and the claim are stored in one transaction, and a
   * second create under the same claim stores nothing.
   */
  createPet(pet: NewPet, claim?: IdempotencyClaim): Promise<Creation>;
  /**
   * Stores many animals in one transaction, in their order. With a step, the note of how far the import
   * has come moves in the same transaction. False: the note is no longer where the step begins, because
   * another import of the same file is at work; nothing was stored.
   */
  importPets(pets: readonly NewPet[], step?: ImportStep): Promise<boolean>;
  /** How far the import of a file has come, or undefined if it was never begun. */
  findImport(source: string): Promise<ImportProgress | undefined>;
  findPet(id: bigint): Promise<Pet | undefined>;
  /** At most `count` animals with ids above `afterId`, ascending. Any page costs the same. */
  listPets(query: PetQuery): Promise<Pet[]>;
  /** The same animals, each with the JSON that `petJson` writes: a list sends them on unchanged. */
  listPetJson(query: PetQuery): Promise<PetJson[]>;
  /**
   * A number that has changed whenever anything was committed, by any process, since it was last asked;
   * or undefined where a store cannot tell without a query. Answers kept under an unchanged number are
   * still exact.
   */
  version(): number | undefined;

  /** Stores a key. */
  createApiKey(key: ApiKey): Promise<void>;
  /** Stores a key only if there is none at all; of many processes that try at once, one succeeds. */
  createFirstApiKey(key: ApiKey): Promise<boolean>;
  findApiKey(hash: string): Promise<ApiKey | undefined>;
  /** All keys, the oldest first. */
  listApiKeys(): Promise<ApiKey[]>;
  /** Ends a key now. Answers whether there was such a key; revoking twice keeps the first date. */
  revokeApiKey(id: string, revokedAt: Date): Promise<boolean>;
  /** Stores the successor and sets the end of the old key, both or neither. False: no such key. */
  rotateApiKey(id: string, endsAt: Date, successor: ApiKey): Promise<boolean>;
  /** Records when keys were last used; a date older than the one recorded changes nothing. */
  recordKeyUse(lastUsedAt: ReadonlyMap<string, Date>): Promise<void>;

  /** Resolves when the database answers a query. */
  ping(): Promise<void>;
  /** Finishes what was accepted, then lets go of everything. */
  close(): Promise<void>;
}

export interface PetQuery {
  status: PetStatus | undefined;
  afterId: bigint;
  count: number;
}

export type PetJson = readonly [id: bigint, json: string];

export type Creation =
  | { kind: 'created'; pet: Pet }
  /** The claim was known with the same animal: this is the one it made the first time. */
  | { kind: 'replayed'; pet: Pet }
  /** The claim was known with another animal; nothing was stored. */
  | { kind: 'claim_conflict' };

/** How far the import of one file has come. */
export interface ImportProgress {
  /** What identifies the file: its content, not its name. */
  source: string;
  /** Bytes of the file that are done with. */
  position: number;
  /** Lines among these bytes, the animals that came of them, and the lines that were skipped. */
  lines: number;
  imported: number;
  skipped: number;
}

/** From one position of an import to the next; the first begins at 0. */
export interface ImportStep {
  from: number;
  to: ImportProgress;
}

/** A store that cannot be opened. The message is one line: what is wrong and what would be right. */
export class StoreUnusable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StoreUnusable';
  }
}
