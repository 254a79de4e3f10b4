import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { ApiKey } from '../../domain/api-key.ts';
import type { Figure, Measured } from '../../ops/metrics.ts';
import type { IdempotencyClaim } from '../../domain/idempotency.ts';
import type { PageRequest } from '../../domain/page.ts';
import type { NewPet, Pet } from '../../domain/pet.ts';
import type {
  Creation,
  ImportProgress,
  ImportStep,
  KeyUse,
  PetChange,
  PetConflict,
  PetPage,
  Store,
  StoreVersion,
} from '../../domain/store.ts';
import {
  apiKeyOfRow,
  importOfRow,
  petOfRow,
  rowsAsJson,
  type ApiKeyRow,
  type ImportRow,
  type PetRow,
} from '../rows.ts';
import { petCountFigure } from '../pet-count.ts';
import { unavailable } from '../unavailable.ts';
import { markDamaged } from './damage.ts';
import { fileFigures } from './file-figures.ts';
import { FileReplaced, FileTruncated, isCorrupt } from './errors.ts';
import { requireInPlace, setLogAside, type FileIdentity } from './file-identity.ts';
import { prepareReads, type PageRow, type Reads } from './statements.ts';
import { openStoreFile, type OpenOptions } from './open.ts';
import { WriterClient } from './writer-client.ts';

/** How often the path is checked for reads: for this long they may still come from a file that was replaced. */
const CHECK_INTERVAL_MS = 1_000;

export interface SqliteOptions extends OpenOptions {
  /** Called at most once. The store refuses every call from then on, and is to be closed. */
  onFatal?: ((reason: string) => void) | undefined;
}

/** Opens the store in one file. */
export function openSqliteStore(file: string, options: SqliteOptions = {}): Store & Measured {
  const { database, identity } = openStoreFile(file, options);
  try {
    database.exec('PRAGMA query_only = ON');
    return new SqliteStore(identity, database, options);
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Reads run in this thread, on a connection that never waits for the writer; writes run in the writer thread.
 *
 * When the path no longer leads to the open file, when the file is damaged or the writer thread has ended, the
 * store refuses every call and reports it: the process is to end, and the next start decides what the file is.
 */
class SqliteStore implements Store, Measured {
  readonly #opened: FileIdentity;
  readonly #database: DatabaseSync;
  readonly #reads: Reads;
  readonly #writer: WriterClient;
  readonly #options: SqliteOptions;
  readonly #timer: NodeJS.Timeout;
  /** Why reads are refused until the next check of the path. */
  #checkFault: unknown;
  /** Why every call is refused. */
  #fault: string | undefined;
  #isTruncated = false;
  #version: StoreVersion | undefined;

  constructor(opened: FileIdentity, database: DatabaseSync, options: SqliteOptions) {
    this.#opened = opened;
    this.#database = database;
    this.#options = options;
    this.#reads = prepareReads(database);
    this.#writer = new WriterClient(opened, {
      waitsForDisk: options.waitsForDisk ?? false,
      onWarning: (message) => options.onWarning?.(message),
      onFailure: ({ error, kind }) => {
        if (kind === 'truncated') return this.#failTruncated(error);
        if (kind === 'malformed') return this.#failDamaged(error);
        // A thread that ends because the file is gone must not hide that reason.
        this.#checkPath();
        if (kind === 'ended') this.#fail(`${opened.file}: ${error}`);
      },
    });
    this.#timer = setInterval(() => this.#checkPath(), CHECK_INTERVAL_MS).unref();
  }

  createPet(pet: NewPet, claim?: IdempotencyClaim): Promise<Creation> {
    return claim === undefined
      ? this.#writer.createPet(pet)
      : this.#writer.write('createPetOnce', pet, claim);
  }

  importPets(pets: readonly NewPet[], step?: ImportStep): Promise<boolean> {
    return this.#writer.write('importPets', rowsAsJson(pets), step);
  }

  async findImport(source: string): Promise<ImportProgress | undefined> {
    const [row] = this.#read<ImportRow>('import', source);
    return row && importOfRow(row);
  }

  async findPet(id: bigint): Promise<Pet | undefined> {
    const [row] = this.#read<PetRow>('pet', id);
    return row && petOfRow(row);
  }

  async listPage(request: PageRequest): Promise<PetPage> {
    const { limit, status } = request;
    const isForward = 'afterId' in request;
    const suffix = status === undefined ? '' : 'OfStatus';
    const [row] = this.#read<PageRow>(
      `${isForward ? 'page' : 'pageBefore'}${suffix}`,
      isForward ? request.afterId : request.upToId,
      limit,
      ...(status === undefined ? [] : [status]),
    );
    const [json = '[]', continuesAtId] = row ?? [];
    return { json, continuesAtId: continuesAtId ?? undefined };
  }

  changePets(changes: readonly PetChange[]): Promise<PetConflict[]> {
    return this.#writer.write('changePets', changes);
  }

  /** Whoever may write to the file may change every row. */
  mayChange(): Promise<boolean> {
    return Promise.resolve(true);
  }

  /**
   * SQLite counts the commits of all other connections, including those of the writer thread, and triggers count the
   * changes. These are read only after a commit, and are then at least as new.
   */
  version(): StoreVersion {
    const commits = this.#readCount('commits');
    if (commits !== this.#version?.commits) {
      this.#version = { commits, changes: this.#readCount('petChanges') };
    }
    return this.#version;
  }

  createApiKey(key: ApiKey): Promise<void> {
    return this.#writer.write('createApiKey', key);
  }

  createFirstApiKey(key: ApiKey): Promise<boolean> {
    return this.#writer.write('createFirstApiKey', key);
  }

  async listApiKeys(): Promise<ApiKey[]> {
    return this.#read<ApiKeyRow>('apiKeys').map(apiKeyOfRow);
  }

  revokeApiKey(id: string, revokedAt: Date): Promise<boolean> {
    return this.#writer.write('revokeApiKey', id, revokedAt);
  }

  rotateApiKey(id: string, endsAt: Date, successor: ApiKey): Promise<boolean> {
    return this.#writer.write('rotateApiKey', id, endsAt, successor);
  }

  recordKeyUse(uses: ReadonlyMap<string, KeyUse>): Promise<void> {
    return this.#writer.write('recordKeyUse', uses);
  }

  async ping(): Promise<void> {
    this.#read('commits');
    const { fault } = this.#writer;
    if (fault !== undefined) throw unavailable(new Error(fault));
  }

  figures(): Figure[] {
    return [
      ...this.#writer.figures(),
      ...this.#petFigures(),
      ...fileFigures(this.#database, this.#opened.realFile),
    ];
  }

  #petFigures(): Figure[] {
    try {
      return [petCountFigure(this.#readCount('petCount'))];
    } catch {
      // The store refuses every call, which is reported elsewhere.
      return [];
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#fault ??= 'the store is closed';
    await this.#writer.close();
    try {
      setLogAside(this.#opened);
    } catch (error) {
      const beside = `the log beside ${this.#opened.file} may be of another file`;
      this.#options.onWarning?.(`${beside}: ${String(error)}`);
    }
    if (this.#database.isOpen && !this.#isTruncated) this.#database.close();
  }

  #readCount(name: 'commits' | 'petChanges' | 'petCount'): number {
    const [row] = this.#read<[bigint]>(name);
    return Number(row?.[0]);
  }

  #read<Row>(name: keyof Reads, ...values: SQLInputValue[]): Row[] {
    if (this.#fault !== undefined) throw unavailable(new Error(this.#fault));
    if (this.#checkFault !== undefined) throw unavailable(this.#checkFault);
    try {
      return this.#reads[name].all(...values) as unknown as Row[];
    } catch (cause) {
      if (isCorrupt(cause)) this.#failDamaged(String(cause));
      throw unavailable(cause);
    }
  }

  #checkPath(): void {
    try {
      requireInPlace(this.#opened, this.#database);
      this.#checkFault = undefined;
    } catch (error) {
      this.#checkFault = error;
      if (error instanceof FileTruncated) this.#failTruncated(error.message);
      else if (error instanceof FileReplaced) this.#fail(error.message);
    }
  }

  /** SQLite has called the file malformed. The next start finds out whether it is. */
  #failDamaged(reason: string): void {
    this.#checkPath();
    // A file that was replaced must not be called damaged.
    if (this.#checkFault !== undefined) return;
    markDamaged(this.#opened.realFile, reason);
    this.#fail(
      `${this.#opened.file} may be damaged (${reason}): start the service again, which checks the file.`,
    );
  }

  /**
   * The last connection that is closed would write the log to the database: to the file that somebody may have copied over
   * it. So this one stays open until the process ends, which closes it at the natural end of its loop, but not in exit().
   */
  #failTruncated(reason: string): void {
    this.#isTruncated = true;
    process.once('beforeExit', () => this.#database.isOpen && process.exit());
    this.#fail(reason);
  }

  #fail(reason: string): void {
    if (this.#fault !== undefined) return;
    this.#fault = reason;
    clearInterval(this.#timer);
    this.#writer.fail(new Error(reason));
    this.#options.onFatal?.(reason);
  }
}
