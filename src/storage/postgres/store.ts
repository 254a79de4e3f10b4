import type { ApiKey } from '../../domain/api-key.ts';
import type { Figure, Measured } from '../../ops/metrics.ts';
import { Refusal } from '../../domain/errors.ts';
import { petJson } from '../../domain/json.ts';
import type { IdempotencyClaim } from '../../domain/idempotency.ts';
import type { NewPet, Pet } from '../../domain/pet.ts';
import type { PageRequest } from '../../domain/page.ts';
import type { RateLimit, TakePortion } from '../../domain/rate-limit.ts';
import type {
  Creation,
  ImportProgress,
  ImportStep,
  KeyUse,
  PetChange,
  PetConflict,
  PetPage,
  Store,
} from '../../domain/store.ts';
import type { Access } from '../../domain/store-identity.ts';
import {
  apiKeyOfRow,
  importOfRow,
  petOfRow,
  rowAsJson,
  rowOfApiKey,
  type ApiKeyRow,
  type ImportRow,
  type PetRow,
} from '../rows.ts';
import { conflictsIn } from '../pet-change.ts';
import { petCountFigure } from '../pet-count.ts';
import { parseAddress } from './address.ts';
import { CALL_TIMEOUT_MS, deadlineIn } from '../deadline.ts';
import { inTransaction, type Connection, type Row, type Statement } from './connection.ts';
import { isRightMissing, withRetriesOfWrite } from './errors.ts';
import { Hosts, openFirst } from './hosts.ts';
import { Past, type PastEvents } from './past.ts';
import { Pool } from './pool.ts';
import { portionsInDatabase } from './portions.ts';
import { newCreateBatcher, petColumns } from './creates.ts';
import { newSendCreate, type SendCreate } from './rows-by-hand.ts';
import { SharedReads } from './shared-reads.ts';
import { migrate } from './migrate.ts';
import { requireRights, STORE_RIGHTS } from './rights.ts';
import { STATEMENTS } from './statements.ts';

const CONNECTIONS_MAX = 10;

export interface PostgresOptions extends Access, PastEvents {}

/** Opens the store in a PostgreSQL database, `postgres://user:password@host:port/database`. */
export async function openPostgresStore(
  url: string,
  { onRefused, onWarning = () => undefined, ...access }: PostgresOptions = {},
): Promise<Store & Measured> {
  const address = parseAddress(url);
  const hosts = new Hosts(address);
  const connection = await openFirst(hosts);
  let past: Past;
  try {
    const { id } = await migrate(connection, address.shown, access);
    await requireRights(connection, address.shown, STORE_RIGHTS);
    past = new Past(id, { onRefused, onWarning });
    await past.require(connection);
  } catch (error) {
    hosts.close();
    throw error;
  } finally {
    await connection.close();
  }
  const pool = new Pool(hosts, CONNECTIONS_MAX, (opened) => past.require(opened));
  hosts.watch(() => pool.destroyAll());
  past.watch(pool);
  return new PostgresStore(pool, hosts, past, newSendCreate(pool, past, onWarning));
}

class PostgresStore implements Store, Measured {
  readonly #pool: Pool;
  readonly #hosts: Hosts;
  readonly #past: Past;
  readonly #sendCreate: SendCreate;
  readonly #creates: ReturnType<typeof newCreateBatcher>;
  readonly #reads: SharedReads;
  /** As of the report before. */
  #petCount: number | undefined;
  #isCounting = false;

  constructor(pool: Pool, hosts: Hosts, past: Past, sendCreate: SendCreate) {
    this.#pool = pool;
    this.#hosts = hosts;
    this.#past = past;
    this.#sendCreate = sendCreate;
    this.#creates = newCreateBatcher(sendCreate, past);
    this.#reads = new SharedReads(pool);
  }

  createPet(pet: NewPet, claim?: IdempotencyClaim): Promise<Creation> {
    return this.#creates.add({ pet, claim });
  }

  async importPets(pets: readonly NewPet[], step?: ImportStep): Promise<boolean> {
    const values = petColumns(pets);
    const [row] = await (step === undefined
      ? this.#sendCreate(STATEMENTS.createPets, values, deadlineIn(CALL_TIMEOUT_MS))
      : this.#sendCreate(
          STATEMENTS.importPets,
          [...values, ...progressColumns(step)],
          deadlineIn(CALL_TIMEOUT_MS),
        ));
    const before = row?.[0] as bigint | null;
    if (before === null) return false;
    this.#past.remember(before + BigInt(pets.length));
    return true;
  }

  async findImport(source: string): Promise<ImportProgress | undefined> {
    const [row] = await this.#reads.query(STATEMENTS.findImport, [source]);
    return row && importOfRow(row as ImportRow);
  }

  async findPet(id: bigint): Promise<Pet | undefined> {
    const row = await this.#reads.find(STATEMENTS.findPets, id);
    return row && petOfRow(row as PetRow);
  }

  async listPage(request: PageRequest): Promise<PetPage> {
    const { limit, status } = request;
    const filter = status === undefined ? [] : [status];
    const suffix = status === undefined ? '' : 'OfStatus';
    const isForward = 'afterId' in request;
    const statement = STATEMENTS[`${isForward ? 'listPets' : 'listLastPets'}${suffix}`];
    const id = isForward ? request.afterId : request.upToId;
    // One animal more than the page may have shows that another page follows.
    const rows = await this.#reads.search(statement, [...filter, id, limit + 1]);
    const shown = rows.slice(0, limit).map((row) => petOfRow(row as PetRow));
    const continuesAtId = rows.length > limit ? shown.at(-1)?.id : undefined;
    if (!isForward) shown.reverse();
    return { json: `[${shown.map(petJson).join(',')}]`, continuesAtId };
  }

  async changePets(changes: readonly PetChange[]): Promise<PetConflict[]> {
    const ids = changes.map(({ from }) => from.id);
    const seen = rowsById(changes.map(({ from }) => [from.id, from]));
    const wanted = rowsById(changes.flatMap(({ from, to }) => (to ? [[from.id, to]] : [])));
    try {
      const rows = await this.#write(STATEMENTS.changePets, [ids, seen, wanted]);
      const found = new Map(rows.map((row) => [row[0], petOfRow(row as PetRow)]));
      return conflictsIn(changes, (id) => found.get(id));
    } catch (error) {
      // The user of the database may be one that only adds animals.
      if (!isRightMissing(error)) throw error;
      const remedy = 'grant UPDATE and DELETE on the table pets to its user';
      throw new Refusal('unavailable', `The database refuses changes of animals: ${remedy}.`, {
        cause: error,
      });
    }
  }

  async mayChange(): Promise<boolean> {
    const [row] = await this.#reads.query(STATEMENTS.mayChange, []);
    return row?.[0] === true;
  }

  async createApiKey(key: ApiKey): Promise<void> {
    await this.#write(STATEMENTS.createApiKey, rowOfApiKey(key));
  }

  createFirstApiKey(key: ApiKey): Promise<boolean> {
    return this.#writeLocked(STATEMENTS.createFirstApiKey, rowOfApiKey(key));
  }

  async listApiKeys(): Promise<ApiKey[]> {
    const rows = await this.#reads.query(STATEMENTS.listApiKeys, []);
    return rows.map((row) => apiKeyOfRow(row as ApiKeyRow));
  }

  async revokeApiKey(id: string, revokedAt: Date): Promise<boolean> {
    const rows = await this.#write(STATEMENTS.revokeApiKey, [id, revokedAt.getTime()]);
    return rows.length === 1;
  }

  rotateApiKey(id: string, endsAt: Date, successor: ApiKey): Promise<boolean> {
    const values = [...rowOfApiKey(successor), id, endsAt.getTime()];
    return this.#writeLocked(STATEMENTS.rotateApiKey, values);
  }

  async recordKeyUse(uses: ReadonlyMap<string, KeyUse>): Promise<void> {
    const used = [...uses.values()];
    await this.#write(STATEMENTS.recordKeyUse, [
      [...uses.keys()],
      used.map(({ usedAt }) => usedAt.getTime()),
      used.map(({ deprecatedCallAt }) => deprecatedCallAt?.getTime()),
    ]);
  }

  portions(limit: RateLimit): TakePortion {
    return portionsInDatabase(limit, this.#pool);
  }

  async ping(): Promise<void> {
    await this.#reads.query(STATEMENTS.ping, []);
  }

  figures(): Figure[] {
    const parts = [this.#creates, this.#reads, this.#pool, this.#past];
    const figures = parts.flatMap((part) => part.figures());
    if (this.#petCount !== undefined) figures.push(petCountFigure(this.#petCount));
    if (!this.#isCounting) void this.#countPets();
    return figures;
  }

  async #countPets(): Promise<void> {
    this.#isCounting = true;
    try {
      const deadline = deadlineIn(CALL_TIMEOUT_MS);
      const [row] = await this.#pool.query(STATEMENTS.petCount, [], deadline);
      this.#petCount = Number(row?.[0]);
    } catch {
      // The database gives no response, which is reported elsewhere.
      this.#petCount = undefined;
    }
    this.#isCounting = false;
  }

  async close(): Promise<void> {
    await this.#creates.close();
    this.#hosts.close();
    this.#past.close();
    await this.#pool.close();
  }

  #write(statement: Statement, values: unknown[]): Promise<Row[]> {
    const deadline = deadlineIn(CALL_TIMEOUT_MS);
    return withRetriesOfWrite(() => this.#pool.query(statement, values, deadline));
  }

  /** The lock is a statement of its own, so that the next one sees what was committed before the lock. */
  #writeLocked(statement: Statement, values: unknown[]): Promise<boolean> {
    const deadline = deadlineIn(CALL_TIMEOUT_MS);
    const write = (connection: Connection) =>
      inTransaction(
        connection,
        (text) => connection.query({ name: '', text }, [], deadline),
        async () => {
          await connection.query(STATEMENTS.lockCounter, [], deadline);
          return (await connection.query(statement, values, deadline)).length === 1;
        },
      );
    return withRetriesOfWrite(() => this.#pool.run(deadline, write));
  }
}

function progressColumns({ from, to }: ImportStep): unknown[] {
  return [to.source, to.position, to.lines, to.imported, to.skipped, from];
}

/** One JSON object. */
function rowsById(pets: readonly [id: bigint, NewPet][]): string {
  return `{${pets.map(([id, pet]) => `"${id}":${rowAsJson(pet)}`).join(',')}}`;
}
