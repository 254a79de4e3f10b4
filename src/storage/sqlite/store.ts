import type { SQLInputValue } from 'node:sqlite';
import type { ApiKey } from '../../domain/api-key.ts';
import type { IdempotencyClaim } from '../../domain/idempotency.ts';
import { encodePage, type EncodedPage, type PageRequest } from '../../domain/page.ts';
import type { NewPet, Pet } from '../../domain/pet.ts';
import type { Creation, ImportProgress, ImportStep, PetQuery, Store } from '../../domain/store.ts';
import {
  apiKeyOfRow,
  importOfRow,
  petOfRow,
  rowsAsJson,
  type ApiKeyRow,
  type ImportRow,
  type PetRow,
} from '../rows.ts';
import { isCorrupt, unreadable, unwritable } from './faults.ts';
import type { Reads } from './reads.ts';
import { StoreFile } from './store-file.ts';
import type { Writes } from './writes.ts';

/** Opens the store that lives in one file. `onWarning` is told when the file is lost and when it is back. */
export function openSqliteStore(
  file: string,
  { onWarning = () => undefined }: { onWarning?: (message: string) => void } = {},
): Store {
  return new SqliteStore(new StoreFile(file, onWarning));
}

/** Above every number that SQLite gives one connection as its version. */
const VERSIONS_OF_CONNECTION = 2 ** 32;

/** Reads run here, on a connection of their own that never waits; writes go to the writer thread. */
class SqliteStore implements Store {
  readonly #file: StoreFile;

  constructor(file: StoreFile) {
    this.#file = file;
  }

  createPet(pet: NewPet, claim?: IdempotencyClaim): Promise<Creation> {
    return this.#write('createPet', pet, claim);
  }

  importPets(pets: readonly NewPet[], step?: ImportStep): Promise<boolean> {
    return this.#write('importPets', rowsAsJson(pets), step);
  }

  async findImport(source: string): Promise<ImportProgress | undefined> {
    const [row] = this.#read<ImportRow>('import', source);
    return row && importOfRow(row);
  }

  async findPet(id: bigint): Promise<Pet | undefined> {
    const [row] = this.#read<PetRow>('pet', id);
    return row && petOfRow(row);
  }

  async listPets({ status, afterId, count }: PetQuery): Promise<Pet[]> {
    const rows =
      status === undefined
        ? this.#read<PetRow>('pets', afterId, count)
        : this.#read<PetRow>('petsOfStatus', status, afterId, count);
    return rows.map(petOfRow);
  }

  async readPage({ limit, status, afterId }: PageRequest): Promise<EncodedPage> {
    const rows =
      status === undefined
        ? this.#read<[json: string]>('page', afterId, limit + 1)
        : this.#read<[json: string]>('pageOfStatus', status, afterId, limit + 1);
    return encodePage(
      rows.map(([json]) => json),
      limit,
    );
  }

  /** SQLite counts the commits of all other connections, our own writer's among them. */
  version(): number {
    const [row] = this.#read<[bigint]>('version');
    return this.#file.openings * VERSIONS_OF_CONNECTION + Number(row?.[0]);
  }

  createApiKey(key: ApiKey): Promise<void> {
    return this.#write('createApiKey', key);
  }

  createFirstApiKey(key: ApiKey): Promise<boolean> {
    return this.#write('createFirstApiKey', key);
  }

  async findApiKey(hash: string): Promise<ApiKey | undefined> {
    const [row] = this.#read<ApiKeyRow>('apiKey', hash);
    return row && apiKeyOfRow(row);
  }

  async listApiKeys(): Promise<ApiKey[]> {
    return this.#read<ApiKeyRow>('apiKeys').map(apiKeyOfRow);
  }

  revokeApiKey(id: string, revokedAt: Date): Promise<boolean> {
    return this.#write('revokeApiKey', id, revokedAt);
  }

  rotateApiKey(id: string, endsAt: Date, successor: ApiKey): Promise<boolean> {
    return this.#write('rotateApiKey', id, endsAt, successor);
  }

  recordKeyUse(lastUsedAt: ReadonlyMap<string, Date>): Promise<void> {
    return this.#write('recordKeyUse', lastUsedAt);
  }

  async ping(): Promise<void> {
    if (this.#file.current().writes.isStuck) throw unwritable(new Error('the disk hangs'));
    this.#read('version');
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  #read<Row>(name: keyof Reads, ...values: SQLInputValue[]): Row[] {
    const { reads } = this.#file.current();
    try {
      return reads[name].all(...values) as unknown as Row[];
    } catch (cause) {
      if (isCorrupt(cause)) this.#file.setDamaged(String(cause));
      throw unreadable(cause);
    }
  }

  /** Not async: one promise more for each create would be measurable. */
  #write<Name extends keyof Writes>(
    name: Name,
    ...values: Parameters<Writes[Name]>
  ): Promise<ReturnType<Writes[Name]>> {
    try {
      return this.#file.current().writes.add(name, ...values);
    } catch (refusal) {
      return Promise.reject(refusal);
    }
  }
}
