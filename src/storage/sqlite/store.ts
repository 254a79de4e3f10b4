import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { ApiKey } from '../../domain/api-key.ts';
import { Refusal } from '../../domain/errors.ts';
import type { IdempotencyClaim } from '../../domain/idempotency.ts';
import { encodePage, type EncodedPage, type PageRequest } from '../../domain/page.ts';
import type { NewPet, Pet } from '../../domain/pet.ts';
import type { Creation, ImportProgress, ImportStep, PetQuery, Store } from '../../domain/store.ts';
import { unfinishedCopy } from '../migrate.ts';
import { openConnection, openStoreFile } from './connection.ts';
import { unfinishedCopyOf } from './schema.ts';
import {
  API_KEY_COLUMNS,
  apiKeyOfRow,
  IMPORT_COLUMNS,
  importOfRow,
  PET_COLUMNS,
  petOfRow,
  rowsAsJson,
  type ApiKeyRow,
  type ImportRow,
  type PetRow,
} from '../rows.ts';
import { WriteQueue } from './write-queue.ts';

/** Opens the store that lives in one file. */
export function openSqliteStore(file: string): Store {
  refuseUnfinishedCopy(file);
  return new SqliteStore(file);
}

/** Reads run here, on a connection of their own that never waits; writes go to the writer thread. */
class SqliteStore implements Store {
  readonly #database: DatabaseSync;
  readonly #writes: WriteQueue;
  readonly #statements: ReturnType<typeof prepareReads>;

  constructor(file: string) {
    this.#database = openConnection(file);
    this.#database.exec('PRAGMA query_only = ON');
    this.#statements = prepareReads(this.#database);
    this.#writes = new WriteQueue(file);
  }

  createPet(pet: NewPet, claim?: IdempotencyClaim): Promise<Creation> {
    return this.#writes.add('createPet', pet, claim);
  }

  importPets(pets: readonly NewPet[], step?: ImportStep): Promise<boolean> {
    return this.#writes.add('importPets', rowsAsJson(pets), step);
  }

  async findImport(source: string): Promise<ImportProgress | undefined> {
    const [row] = readRows<ImportRow>(this.#statements.import, source);
    return row && importOfRow(row);
  }

  async findPet(id: bigint): Promise<Pet | undefined> {
    const [row] = readRows<PetRow>(this.#statements.pet, id);
    return row && petOfRow(row);
  }

  async listPets({ status, afterId, count }: PetQuery): Promise<Pet[]> {
    const rows =
      status === undefined
        ? readRows<PetRow>(this.#statements.pets, afterId, count)
        : readRows<PetRow>(this.#statements.petsOfStatus, status, afterId, count);
    return rows.map(petOfRow);
  }

  async readPage({ limit, status, afterId }: PageRequest): Promise<EncodedPage> {
    const rows =
      status === undefined
        ? readRows<[json: string]>(this.#statements.page, afterId, limit + 1)
        : readRows<[json: string]>(this.#statements.pageOfStatus, status, afterId, limit + 1);
    return encodePage(
      rows.map(([json]) => json),
      limit,
    );
  }

  /** SQLite counts the commits of all other connections, our own writer's among them. */
  version(): number {
    const [row] = readRows<[bigint]>(this.#statements.version);
    return Number(row?.[0]);
  }

  createApiKey(key: ApiKey): Promise<void> {
    return this.#writes.add('createApiKey', key);
  }

  createFirstApiKey(key: ApiKey): Promise<boolean> {
    return this.#writes.add('createFirstApiKey', key);
  }

  async findApiKey(hash: string): Promise<ApiKey | undefined> {
    const [row] = readRows<ApiKeyRow>(this.#statements.apiKey, hash);
    return row && apiKeyOfRow(row);
  }

  async listApiKeys(): Promise<ApiKey[]> {
    return readRows<ApiKeyRow>(this.#statements.apiKeys).map(apiKeyOfRow);
  }

  revokeApiKey(id: string, revokedAt: Date): Promise<boolean> {
    return this.#writes.add('revokeApiKey', id, revokedAt);
  }

  rotateApiKey(id: string, endsAt: Date, successor: ApiKey): Promise<boolean> {
    return this.#writes.add('rotateApiKey', id, endsAt, successor);
  }

  recordKeyUse(lastUsedAt: ReadonlyMap<string, Date>): Promise<void> {
    return this.#writes.add('recordKeyUse', lastUsedAt);
  }

  async ping(): Promise<void> {
    readRows(this.#statements.version);
  }

  async close(): Promise<void> {
    await this.#writes.close();
    if (this.#database.isOpen) this.#database.close();
  }
}

function refuseUnfinishedCopy(file: string): void {
  const { database } = openStoreFile(file, { mayCreate: true });
  const source = unfinishedCopyOf(database);
  database.close();
  if (source !== undefined) throw unfinishedCopy(file, source);
}

/** SQLite plans a statement anew whenever a bare parameter of LIMIT is bound, which costs a third as much as the page. */
const COUNT = '? + 0';

/** An animal as petJson writes it: one text is read faster than four values are. */
const PET_JSON = `json_object('id', id, 'name', name, 'categoryId', category_id, 'status', status)`;

function prepareReads(database: DatabaseSync) {
  return {
    pet: database.prepare(`SELECT ${PET_COLUMNS} FROM pets WHERE id = ?`),
    pets: database.prepare(
      `SELECT ${PET_COLUMNS} FROM pets WHERE id > ? ORDER BY id LIMIT ${COUNT}`,
    ),
    petsOfStatus: database.prepare(
      `SELECT ${PET_COLUMNS} FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ${COUNT}`,
    ),
    page: database.prepare(`SELECT ${PET_JSON} FROM pets WHERE id > ? ORDER BY id LIMIT ${COUNT}`),
    pageOfStatus: database.prepare(
      `SELECT ${PET_JSON} FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ${COUNT}`,
    ),
    import: database.prepare(`SELECT ${IMPORT_COLUMNS} FROM imports WHERE source = ?`),
    apiKey: database.prepare(`SELECT ${API_KEY_COLUMNS} FROM api_keys WHERE hash = ?`),
    apiKeys: database.prepare(`SELECT ${API_KEY_COLUMNS} FROM api_keys ORDER BY created_at, id`),
    version: database.prepare('PRAGMA data_version'),
  };
}

function readRows<Row>(statement: StatementSync, ...values: SQLInputValue[]): Row[] {
  try {
    return statement.all(...values) as unknown as Row[];
  } catch (cause) {
    throw new Refusal('unavailable', 'The store cannot be read right now; try again shortly.', {
      cause,
    });
  }
}
