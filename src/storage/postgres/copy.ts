import { selectPage } from '../copy.ts';
import type { CatalogueReader, CopySource, CopyTarget, Row, Table } from '../copy.ts';
import { parseAddress } from './address.ts';
import { deadlineIn } from '../deadline.ts';
import { inTransaction, type Connection } from './connection.ts';
import { Hosts, openFirst } from './hosts.ts';
import { migrate, unfinishedCopyOf } from './migrate.ts';

/** No request waits for a copy, and one statement may read or write much. */
const STATEMENT_TIMEOUT_MS = 600_000;

/** The types of the columns of each table. */
const TYPES: Record<Table['name'], string> = {
  pets: 'bigint text bigint text',
  api_keys: 'text text text text bigint bigint bigint bigint',
  idempotency_keys: 'text text text bigint bigint',
  imports: 'text bigint bigint bigint bigint',
  deprecated_calls: 'text bigint bigint bigint',
};

type Run = (text: string, values?: unknown[]) => Promise<Row[]>;

/** Opens a database to copy from. */
export async function openPostgresSource(url: string): Promise<CopySource> {
  const { connection, run } = await openToRead(url);
  return readerOf(connection, run);
}

/** Other programs may keep writing: the snapshot does not change. */
export async function openToRead(url: string): Promise<{ connection: Connection; run: Run }> {
  const opened = await open(url);
  await opened.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  // The first read takes the snapshot.
  await opened.run('SELECT FROM pet_counter');
  return opened;
}

export async function openPostgresTarget(url: string): Promise<CopyTarget> {
  const { connection, run } = await open(url);
  /** Inserts many rows with one statement, which takes one array per column. */
  async function insert({ name, columns }: Table, rows: Row[]): Promise<void> {
    const arrays = TYPES[name].split(' ').map((type, index) => `$${index + 1}::${type}[]`);
    const values = arrays.map((_, index) => rows.map((row) => row[index]));
    await run(`INSERT INTO ${name} (${columns}) SELECT * FROM unnest(${arrays.join()})`, values);
  }
  async function setLastId(id: bigint): Promise<void> {
    await run('UPDATE pet_counter SET last_id = $1::bigint', [id]);
  }
  return {
    ...readerOf(connection, run),
    mark: (source) =>
      inTransaction(connection, run, async () => {
        await run('CREATE TABLE unfinished_copy (source text NOT NULL)');
        await run('INSERT INTO unfinished_copy VALUES ($1)', [source]);
      }),
    write: insert,
    finish: (work) =>
      inTransaction(connection, run, async () => {
        await work({ write: insert, setLastId });
        await run('DROP TABLE unfinished_copy');
      }),
  };
}

async function open(url: string): Promise<{ connection: Connection; run: Run }> {
  const address = parseAddress(url);
  const hosts = new Hosts(address);
  const connection = await openFirst(hosts);
  hosts.close();
  const run: Run = async (text, values = []) =>
    (await connection.query({ name: '', text }, values, deadlineIn(STATEMENT_TIMEOUT_MS))) as Row[];
  try {
    await migrate(connection, address.shown);
    await run(`SET statement_timeout = ${STATEMENT_TIMEOUT_MS}`);
    return { connection, run };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function readerOf(connection: Connection, run: Run): CatalogueReader {
  return {
    read: (table, after, count) => run(selectPage(table, '$'), [...after, count]),
    countPets: async () => Number((await run('SELECT count(*) FROM pets'))[0]?.[0]),
    lastId: async () => (await run('SELECT last_id FROM pet_counter'))[0]?.[0] as bigint,
    unfinishedCopyOf: () => unfinishedCopyOf(connection),
    close: () => connection.close(),
  };
}
