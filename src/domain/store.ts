import type { ApiKey } from './api-key.ts';
import type { IdempotencyClaim } from './idempotency.ts';
import type { PageRequest } from './page.ts';
import type { NewPet, Pet } from './pet.ts';
import type { RateLimit, TakePortion } from './rate-limit.ts';

/** How many animals a store counts for its figures. To count more at every report would delay requests. */
export const PETS_COUNTED_MAX = 100_000;

/**
 * The store of animals and keys, as one interface for each user. Every store implements all of them and
 * guarantees the following, and storage/store.contract.ts tests each of them.
 *
 * - When the promise of a write resolves, the write is durable: it survives a crash of the process and a
 *   loss of power.
 * - The order of ids is the order of commits, with any number of processes. After a reader has seen an id,
 *   no lower id appears.
 * - A read sees every create and every change that any process acknowledged before the read was requested.
 * - Errors are Refusals: `unavailable` if the database cannot be reached or written, `overloaded` if the
 *   queue is full. After either, a create with a claim can be retried.
 */
export interface Store
  extends PetStore, PetChanges, KeyStore, CatalogueAdministration, KeyAdministration {
  /** The counters of the rate limit of all processes. A store that only one machine can use has none. */
  portions?(limit: RateLimit): TakePortion;
  /** Resolves when the database responds to a query. */
  ping(): Promise<void>;
  /** Completes the accepted calls, then releases every resource. */
  close(): Promise<void>;
}

/** What the three operations need. */
export interface PetStore {
  /**
   * Stores one animal. A claim is stored in the same transaction, and a second create with the same claim
   * stores nothing.
   */
  createPet(pet: NewPet, claim?: IdempotencyClaim): Promise<Creation>;
  findPet(id: bigint): Promise<Pet | undefined>;
  /**
   * At most `limit` animals with ids above `afterId`, or the last ones with ids up to `upToId`, in ascending
   * order. Every page costs the same, in both directions.
   */
  listPage(request: PageRequest): Promise<PetPage>;
  /** Tells whether a cached response is still exact. A store that would need a query for each response has no version. */
  version?(): StoreVersion;
}

/** Two numbers that differ after a commit of any process. */
export interface StoreVersion {
  /** Differs after each commit. */
  commits: number;
  /** Differs after a commit that has done more to animals than to add some above every id before. */
  changes: number;
}

/** What people do in the console and by commands. Two of them never overwrite each other unseen. */
export interface PetChanges {
  /**
   * Changes animals that are still as the person saw them or already as wanted, all in one transaction. Returns the
   * others; if there are any, nothing is changed. No animal may be named twice.
   */
  changePets(changes: readonly PetChange[]): Promise<PetConflict[]>;
  /** Whether the database lets this service change and remove animals. */
  mayChange(): Promise<boolean>;
}

export interface PetChange {
  /** As the person saw it. */
  from: Pet;
  /**
   * Undefined to remove it. Its id is not assigned again, and its claim stays: a repeated create does not bring it
   * back.
   */
  to: NewPet | undefined;
}

export interface PetConflict {
  id: bigint;
  /** Somebody has changed the animal meanwhile, or there is no such animal any more. */
  kind: 'changed' | 'gone';
}

/** What the check of API keys needs. */
export interface KeyStore {
  /** All keys, oldest first. */
  listApiKeys(): Promise<ApiKey[]>;
  /** Records the last uses, by the id of the key. A date older than the recorded one is ignored. */
  recordKeyUse(uses: ReadonlyMap<string, KeyUse>): Promise<void>;
}

/** What adds the animals of a list: a command, and the console. */
export interface PetImports {
  /**
   * Stores animals in one transaction, in the given order. A step updates the progress of the import in the
   * same transaction. Returns false and stores nothing if the stored progress is not where the step begins,
   * because another import of the same file is running.
   */
  importPets(pets: readonly NewPet[], step?: ImportStep): Promise<boolean>;
  /** The progress of the import of a file, or undefined if it was never started. */
  findImport(source: string): Promise<ImportProgress | undefined>;
}

/** What the commands that read and change the catalogue need. */
export type CatalogueAdministration = Pick<PetStore, 'findPet'> & PetChanges & PetImports;

/** What the commands for keys need. */
export interface KeyAdministration extends Pick<KeyStore, 'listApiKeys'> {
  createApiKey(key: ApiKey): Promise<void>;
  /** Stores a key if the store has none. If several processes try at once, one succeeds. */
  createFirstApiKey(key: ApiKey): Promise<boolean>;
  /** Revokes a key. Returns false if there is no such key. A second call keeps the first date. */
  revokeApiKey(id: string, revokedAt: Date): Promise<boolean>;
  /**
   * Stores the successor, which is created later than the old key, and ends the old key atomically. Returns
   * false if there is no such key, or if it is revoked, has expired, or was rotated before.
   */
  rotateApiKey(id: string, endsAt: Date, successor: ApiKey): Promise<boolean>;
}

export interface PetPage {
  /** The array that a client receives. Each animal is written as `petJson` writes it. */
  json: string;
  /** The id of the page's last animal in the direction of the walk, if more animals follow in that direction. */
  continuesAtId: bigint | undefined;
}

export type Creation =
  | { kind: 'created'; pet: Pet }
  /** The claim was used before for the same animal: this is the animal as it was created then. */
  | { kind: 'replayed'; pet: Pet }
  /** The claim was used before for a different animal. Nothing was stored. */
  | { kind: 'claim_conflict' };

export interface KeyUse {
  usedAt: Date;
  /** Undefined if the key has called no deprecated operation. */
  deprecatedCallAt: Date | undefined;
}

/** The progress of the import of one file. */
export interface ImportProgress {
  /** Identifies the file by its content, not by its name. */
  source: string;
  /** The number of bytes of the file that are processed. */
  position: number;
  /** The lines in these bytes, the animals stored from them, and the lines skipped. */
  lines: number;
  imported: number;
  skipped: number;
}

/** Moves an import from one position to the next. The first step begins at 0. */
export interface ImportStep {
  from: number;
  to: ImportProgress;
}

/**
 * A store that cannot be opened, because a setting or an argument is wrong: the exit code is 2. The message is one
 * line that says what is wrong and what would be right.
 */
export class StoreUnusable extends Error {
  override readonly name: string = 'StoreUnusable';
}

/** A store that cannot be opened because of its state, such as a damaged or newer one: the exit code is 1. */
export class StoreFault extends StoreUnusable {
  override readonly name = 'StoreFault';
}
