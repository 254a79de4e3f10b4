import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { NEW_STORE } from '../../harness/store-identity.ts';
import { hashApiKey, type ApiKey } from '../../src/domain/api-key.ts';
import { newIdempotencyClaim } from '../../src/domain/idempotency.ts';
import { parseJson } from '../../src/domain/json.ts';
import type { NewPet, Pet } from '../../src/domain/pet.ts';
import { apiKeyOfRow, rowsAsJson, type ApiKeyRow } from '../../src/storage/rows.ts';
import { openStoreFile } from '../../src/storage/sqlite/open.ts';
import {
  beginTransaction,
  prepareReads,
  prepareWrites,
  type PageRow,
  type Reads,
} from '../../src/storage/sqlite/statements.ts';
import { verifySqlite } from '../../src/storage/tools/sqlite-verify.ts';
import type { Acknowledged, Acknowledgements, RecordedChange } from './expectation.ts';
import { BACKUP_PATH, STORE_PATH, type Workload } from './workload.ts';

const ANIMALS_MAX = 1_000_000;
/** How many of the last acknowledged creates are repeated. */
const REPEATED = 8;

/** Opens the files that a cut after `events` events has left, and returns what contradicts the acknowledgements. */
export function checkAfterCut(
  folder: string,
  events: number,
  workload: Workload,
  acknowledgements: Acknowledgements,
): string[] {
  const file = join(folder, STORE_PATH);
  const check = new Check(events, workload, acknowledgements);
  try {
    // Without its writer thread, the start of which takes longer than everything else.
    const { database } = openStoreFile(file, NEW_STORE);
    using store = { database, [Symbol.dispose]: () => database.close() };
    check.animals(prepareReads(store.database));
    check.keys(prepareReads(store.database));
    check.repeatedCreates(store.database);
  } catch (error) {
    check.violations.push(`the store cannot be used: ${String(error)}`);
  }
  check.files(file, join(folder, BACKUP_PATH));
  return check.violations;
}

class Check {
  readonly violations: string[] = [];
  readonly #workload: Workload;
  readonly #acknowledged: Acknowledged[];
  readonly #isReady: boolean;
  /** Commands that have begun. */
  readonly #changes: (RecordedChange & { isAcknowledged: boolean })[];
  #stored: Pet[] = [];
  #firstKey: ApiKey | undefined;

  constructor(events: number, workload: Workload, all: Acknowledgements) {
    this.#workload = workload;
    this.#acknowledged = all.creates.filter(({ event }) => event < events);
    this.#isReady = all.ready < events;
    this.#changes = all.changes
      .filter(({ first }) => first < events)
      .map((change) => ({ ...change, isAcknowledged: change.acknowledged < events }));
  }

  animals(reads: Reads): void {
    const [json] = reads.page.get(0n, ANIMALS_MAX) as unknown as PageRow;
    this.#stored = parseJson(json) as Pet[];
    const byId = new Map(this.#stored.map((pet) => [pet.id, pet]));
    const lost = this.#acknowledged.filter(
      ({ id }) => !byId.has(id) && this.#find('remove', id) === undefined,
    );
    if (lost.length > 0) this.#report(`${lost.length} acknowledged animals are lost`, lost[0]);
    for (const { id, name } of this.#acknowledged) {
      const pet = byId.get(id);
      if (pet !== undefined && pet.name !== name) this.#report(`the animal ${id} is another`, pet);
      if (pet !== undefined && this.#find('remove', id)?.isAcknowledged === true) {
        this.#report(`the animal ${id} was removed and is there again`, pet);
      }
    }
    this.#contents();
    this.#wholeChanges(byId);
  }

  /** Every animal is as it was sent, and there once. */
  #contents(): void {
    const { acknowledged, open } = this.#workload.load.creates;
    const names = new Set<string>();
    for (const pet of this.#stored) {
      if (!acknowledged.has(pet.name) && !open.has(pet.name)) {
        this.#report('an animal was never sent', pet);
      }
      if (names.has(pet.name)) this.#report('an animal is stored twice', pet);
      names.add(pet.name);
      const change = this.#find('set-status', pet.id);
      const mayBe = change?.isAcknowledged === true ? ['sold'] : ['available'];
      if (change?.isAcknowledged === false) mayBe.push('sold');
      if (pet.categoryId !== 1n || !mayBe.includes(pet.status)) {
        this.#report('an animal was changed', pet);
      }
    }
  }

  /** A command changes all of its animals or none. */
  #wholeChanges(byId: ReadonlyMap<bigint, Pet>): void {
    for (const { kind, ids } of this.#changes) {
      const isDone = (id: bigint) =>
        kind === 'remove' ? !byId.has(id) : byId.get(id)?.status === 'sold';
      const done = ids.filter(isDone).length;
      if (done > 0 && done < ids.length) this.#report(`${kind} was done for some only`, ids);
    }
  }

  keys(reads: Reads): void {
    const keys = (reads.apiKeys.all() as unknown as ApiKeyRow[]).map(apiKeyOfRow);
    this.#firstKey = keys.find(({ hash }) => hash === hashApiKey(this.#workload.key));
    if (this.#isReady && this.#firstKey === undefined) this.#report('the first key is lost', keys);
    const revoke = this.#changes.find(({ kind }) => kind === 'revoke');
    const second = keys.find(({ id }) => id === this.#workload.revokedId);
    if (revoke !== undefined && second === undefined) this.#report('the second key is lost', keys);
    if (revoke?.isAcknowledged === true && second?.revokedAt === undefined) {
      this.#report('the revoked key is valid again', second);
    }
  }

  /** A client that repeats a create gets the same animal, and a new animal gets a new id. */
  repeatedCreates(database: DatabaseSync): void {
    const { createPets, createPetOnce } = prepareWrites(database);
    using transaction = beginTransaction(database);
    const lastId = this.#acknowledged.reduce((last, { id }) => (id > last ? id : last), 0n);
    const freshId = createPets(rowsAsJson([newAnimal('after the cut')]));
    if (freshId <= lastId) this.#report(`an id up to ${lastId} was assigned again`, freshId);
    const apiKeyId = this.#firstKey?.id;
    if (apiKeyId === undefined) return;
    const stored = new Map(this.#stored.map(({ name, id }) => [name, id]));
    const acknowledged = new Map(this.#acknowledged.map(({ name, id }) => [name, id]));
    const unknown = [...stored.keys()].filter((name) => !acknowledged.has(name));
    const names = [...[...acknowledged.keys()].slice(-REPEATED), ...unknown];
    for (const name of names) {
      if (!this.#workload.load.isClaimed(name)) continue;
      const animal = newAnimal(name);
      const claim = newIdempotencyClaim(name, animal, { apiKeyId, now: new Date() });
      const creation = createPetOnce(animal, claim);
      const id = acknowledged.get(name) ?? stored.get(name);
      if (creation.kind !== 'replayed' || creation.pet.id !== id) {
        this.#report(`a repeated create of the animal ${id} was stored again`, creation);
      }
    }
    transaction.commit();
  }

  files(file: string, backup: string): void {
    for (const problem of problemsOf(file)) this.violations.push(`the store: ${problem}`);
    const isBackedUp = this.#changes.find(({ kind }) => kind === 'backup')?.isAcknowledged === true;
    if (isBackedUp && !existsSync(backup)) this.violations.push('the backup is lost');
    if (!existsSync(backup)) return;
    for (const problem of problemsOf(backup)) this.violations.push(`the backup: ${problem}`);
  }

  #find(kind: RecordedChange['kind'], id: bigint) {
    return this.#changes.find((change) => change.kind === kind && change.ids.includes(id));
  }

  #report(what: string, detail: unknown): void {
    const json = JSON.stringify(detail, (_, value: unknown) =>
      typeof value === 'bigint' ? Number(value) : value,
    );
    this.violations.push(`${what}: ${json.slice(0, 200)}`);
  }
}

function newAnimal(name: string): NewPet {
  return { name, categoryId: 1n, status: 'available' };
}

function problemsOf(file: string): string[] {
  try {
    return verifySqlite(file).problems;
  } catch (error) {
    return [String(error)];
  }
}
