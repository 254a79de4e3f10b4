import type { SQLInputValue } from 'node:sqlite';
import type { ApiKey } from '../../domain/api-key.ts';
import type { Figure, Measured } from '../../ops/metrics.ts';
import type { IdempotencyClaim } from '../../domain/idempotency.ts';
import type { NewPet, Pet, PetStatus } from '../../domain/pet.ts';
import type {
  Creation,
  DeprecatedCalls,
  ImportProgress,
  ImportStep,
  PetJson,
  PetQuery,
  Store,
} from '../../domain/store.ts';
import {
  apiKeyOfRow,
  dayOf,
  deprecatedCallsOfRow,
  importOfRow,
  petOfRow,
  rowsAsJson,
  type ApiKeyRow,
  type DeprecatedCallsRow,
  type ImportRow,
  type PetRow,
} from '../rows.ts';
import { isCorrupt, unavailable } from './errors.ts';
import type { Reads, Writes } from './statements.ts';
import { StoreFile } from './store-file.ts';

/** Opens the store in one file. `onWarning` is called when the file is lost and when it is back. */
export function openSqliteStore(
  file: string,
  { onWarning = () => undefined }: { onWarning?: (message: string) => void } = {},
): Store & Measured {
  return new SqliteStore(new StoreFile(file, onWarning));
}

/** Higher than any version number that SQLite gives one connection. */
const CONNECTION_VERSIONS_MAX = 2 ** 32;

/** Reads run in this thread, on a connection that never waits for the writer; writes run in the writer thread. */
class SqliteStore implements Store, Measured {
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

  async listPetJson({ status, afterId, count }: PetQuery): Promise<PetJson[]> {
    return status === undefined
      ? this.#read('petJson', afterId, count)
      : this.#read('petJsonOfStatus', status, afterId, count);
  }

  setPetStatus(ids: readonly bigint[], status: PetStatus): Promise<bigint[]> {
    return this.#write('setPetStatus', ids, status);
  }

  removePets(ids: readonly bigint[]): Promise<bigint[]> {
    return this.#write('removePets', ids);
  }

  /** SQLite counts the commits of all other connections, including those of the writer thread. */
  version(): number {
    const [row] = this.#read<[bigint]>('version');
    return this.#file.openings * CONNECTION_VERSIONS_MAX + Number(row?.[0]);
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

  recordDeprecatedCalls(calls: ReadonlyMap<string, number>, at: Date): Promise<void> {
    return this.#write('recordDeprecatedCalls', calls, at);
  }

  async listDeprecatedCalls(now: Date): Promise<DeprecatedCalls[]> {
    return this.#read<DeprecatedCallsRow>('deprecatedCalls', dayOf(now)).map(deprecatedCallsOfRow);
  }

  async ping(): Promise<void> {
    if (this.#file.writer.isStuck) {
      throw unavailable('cannot be written', new Error('the disk hangs'));
    }
    this.#read('version');
  }

  figures(): Figure[] {
    return this.#file.figures();
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
      throw unavailable('cannot be read', cause);
    }
  }

  /** Not async: one more promise per create is measurable. */
  #write<Name extends keyof Writes>(
    name: Name,
    ...values: Parameters<Writes[Name]>
  ): Promise<ReturnType<Writes[Name]>> {
    try {
      return this.#file.writer.write(name, ...values);
    } catch (refusal) {
      return Promise.reject(refusal);
    }
  }
}
