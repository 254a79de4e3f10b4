import { PostgresServer } from '../../test/support/postgres-server.ts';
import { alternate, withContenders, type Bench, type Row } from '../bench.ts';
import { barePg, petstore } from '../recipes.ts';
import { throughputRow, unmeasuredRow } from '../row.ts';
import { CREATE } from './creates.ts';
import { LIST } from './reads.ts';

const ANIMAL_COUNT = 1_000;
const UNIT = '× bare-pg';
const [LIST_WHAT, CREATE_WHAT] = ['PostgreSQL: list, default page', 'PostgreSQL: create, durable'];

const ANIMALS_SQL = `
  SELECT 'Animal ' || n AS name, n % 50 AS category_id,
         (ARRAY['available', 'pending', 'sold'])[1 + n % 3] AS status
  FROM generate_series(1, ${ANIMAL_COUNT}) AS n ORDER BY n`;

const BARE_SCHEMA_SQL = `
  CREATE TABLE pets (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL, category_id bigint NOT NULL, status text NOT NULL);
  CREATE INDEX pets_by_status ON pets (status, id);
  INSERT INTO pets (name, category_id, status) ${ANIMALS_SQL}`;

const SERVICE_ANIMALS_SQL = `
  INSERT INTO pets (id, name, category_id, status)
  SELECT row_number() OVER (), name, category_id, status FROM (${ANIMALS_SQL}) AS animals;
  UPDATE pet_counter SET last_id = ${ANIMAL_COUNT}`;

/** Compares the service with a server that sends one query per request, as most servers do. */
export async function measurePostgres(bench: Bench): Promise<Row[]> {
  bench.progress.show('PostgreSQL: starting');
  let server: PostgresServer;
  try {
    server = await PostgresServer.start({ isDurable: true });
  } catch {
    const why = 'not measured: there is no PostgreSQL for this machine';
    return [
      unmeasuredRow(LIST_WHAT, `at least 0.90 ${UNIT}`, why),
      unmeasuredRow(CREATE_WHAT, `at least 2 ${UNIT}`, why),
    ];
  }
  try {
    const [serviceDatabase, otherDatabase] = [
      await server.createDatabase(),
      await server.createDatabase(),
    ];
    await server.query(BARE_SCHEMA_SQL, otherDatabase);
    const settings = ['--database', server.url(serviceDatabase)];
    const recipes = [petstore(bench.folder, settings), barePg(server.url(otherDatabase))];
    return await withContenders(bench, recipes, async (service, direct) => {
      if (service === undefined || direct === undefined) return [];
      await server.query(SERVICE_ANIMALS_SQL, serviceDatabase);
      const compare = (what: string, load: typeof LIST) =>
        alternate(bench, what, [
          { contender: service, load },
          { contender: direct, load },
        ]);
      const [lists, directLists] = await compare(LIST_WHAT, LIST);
      const [creates, directCreates] = await compare(CREATE_WHAT, CREATE);
      return [
        { what: LIST_WHAT, bound: { atLeast: 0.9 }, of: lists, against: directLists },
        { what: CREATE_WHAT, bound: { atLeast: 2 }, of: creates, against: directCreates },
      ].map((parts) => throughputRow({ unit: UNIT, keepsBusy: false, ...parts }));
    });
  } finally {
    await server.close();
  }
}
