import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { PostgresServer } from '../../../harness/postgres-server.ts';
import { temporaryFolder } from '../../../harness/temporary-folder.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import { openPostgresStore } from '../postgres/store.ts';
import { LAST_ID_MAX } from '../rows.ts';
import { verifyPostgres } from './postgres-verify.ts';
import { openSqliteStore } from '../sqlite/store.ts';
import { verifySqlite } from './sqlite-verify.ts';
import type { Verification } from './verify.ts';

const REX = { name: 'Rex', categoryId: 7n, status: 'available' } as const;

let server: PostgresServer;
let empty: string;
before(async () => {
  server = await PostgresServer.start();
  empty = await server.createDatabase();
  const store = await openPostgresStore(server.url(empty), NEW_STORE);
  await store.createPet(REX);
  await store.close();
});
after(() => server.close());

type Change = (sql: string) => Promise<Verification>;

/** Runs statements of somebody's own in a store with one animal, then verifies it. */
const STORES: Record<string, Change> = {
  async SQLite(sql) {
    const file = join(folder(), 'petstore.sqlite');
    const store = openSqliteStore(file, NEW_STORE);
    await store.createPet(REX);
    await store.close();
    {
      using database = new DatabaseSync(file, { enableForeignKeyConstraints: false });
      database.exec(sql);
    }
    return verifySqlite(file);
  },
  async PostgreSQL(sql) {
    const database = await server.createDatabase(empty);
    await server.query(sql, database);
    return verifyPostgres(server.url(database));
  },
};

let folder: () => string;
const use = (t: TestContext) => {
  folder = () => temporaryFolder(t);
};

/** Statements, and the one problem or warning that each leads to. */
type Cases = [sql: string, problem: RegExp | undefined, warning?: RegExp][];

const BOTH: Cases = [
  ['SELECT 1', undefined],
  ['CREATE VIEW cheap AS SELECT * FROM pets', /^the view cheap is not the pet store's: remove it$/],
  ['DROP INDEX pets_by_status', /^the index pets_by_status of pets is missing$/],
  [
    'DROP INDEX pets_by_status; CREATE INDEX pets_by_status ON pets (id, status)',
    /^the index pets_by_status of pets is "[^"]*id[^"]*status[^"]*": it must be "[^"]*status[^"]*id[^"]*"$/,
  ],
  ['DROP TABLE imports', /^the table imports is missing$/],
  ['ALTER TABLE api_keys DROP COLUMN name', /^the column name of api_keys is missing$/],
  [
    'CREATE INDEX mine ON pets (name)',
    undefined,
    /^the index mine of pets is not the pet store's$/,
  ],
  ['ALTER TABLE pets ADD COLUMN colour text', undefined, /^the column colour of pets is not /],
  [
    'CREATE TABLE mine (id integer PRIMARY KEY)',
    undefined,
    /^the table mine is not the pet store's$/,
  ],
  // These can stop creates.
  ['CREATE UNIQUE INDEX mine ON pets (name)', /^the index mine of pets is not .*: remove it$/],
  [
    "ALTER TABLE imports ADD COLUMN colour text NOT NULL DEFAULT ''",
    undefined,
    /^the column colour of imports is not /,
  ],
];
/** Of the animals. They go with their table. */
const [TRIGGERS] = /CREATE TRIGGER.*END/s.exec(
  readFileSync(new URL('../sqlite/migrations/0009-pet-changes.sql', import.meta.url), 'utf8'),
) ?? [''];
const OF_ONE: Record<string, Cases> = {
  SQLite: [
    ['DROP TRIGGER count_pet_update', /^the trigger count_pet_update of pets is missing$/],
    [
      // A store without it assigns ids again, and a restore cannot say where new ids begin.
      `CREATE TABLE other (id INTEGER PRIMARY KEY, name TEXT NOT NULL, category_id INTEGER NOT NULL,
         status TEXT NOT NULL CHECK (status IN ('available', 'pending', 'sold'))) STRICT;
       INSERT INTO other SELECT * FROM pets; DROP TABLE pets; ALTER TABLE other RENAME TO pets;
       CREATE INDEX pets_by_status ON pets (status, id);
       ${TRIGGERS}; INSERT INTO sqlite_sequence VALUES ('pets', 4)`,
      /^the constraint AUTOINCREMENT of pets is missing$/,
    ],
    [
      // Only a table of its own may have such a column without a default.
      `DROP TABLE imports; CREATE TABLE imports (source TEXT NOT NULL PRIMARY KEY, position INTEGER NOT NULL, lines INTEGER NOT NULL,
         imported INTEGER NOT NULL, skipped INTEGER NOT NULL, colour TEXT NOT NULL) STRICT, WITHOUT ROWID`,
      /^the column colour of imports is not .*: remove it$/,
    ],
    [
      'CREATE TRIGGER hides AFTER INSERT ON pets BEGIN DELETE FROM pets WHERE id = new.id; END',
      /^the trigger hides of pets is not the pet store's: remove it$/,
    ],
    ["INSERT INTO pets VALUES (70, 'by hand', 1, 'sold')", undefined],
    [`INSERT INTO pets VALUES (${LAST_ID_MAX}, 'by hand', 1, 'sold')`, undefined],
    [
      `INSERT INTO pets VALUES (${LAST_ID_MAX + 1n}, 'by hand', 1, 'sold')`,
      /^the last id is 9223372036853775808: it must be at most 9223372036853775807, /,
    ],
    ['DROP TABLE store_identity', /^the table store_identity is missing$/],
    [
      'DROP TABLE imports; CREATE TABLE imports (source TEXT NOT NULL PRIMARY KEY, position INTEGER NOT NULL, lines INTEGER NOT NULL, imported INTEGER NOT NULL, skipped INTEGER NOT NULL) WITHOUT ROWID',
      /^the table imports is "WITHOUT ROWID": it must be "STRICT WITHOUT ROWID"$/,
    ],
  ],
  PostgreSQL: [
    [
      'ALTER TABLE imports ADD COLUMN colour text NOT NULL',
      /^the column colour of imports is not .*: remove it$/,
    ],
    [
      'ALTER TABLE pets ADD COLUMN number integer GENERATED ALWAYS AS IDENTITY',
      undefined,
      /^the column number of pets is not /,
    ],
    [
      `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
       CREATE TRIGGER hides BEFORE INSERT ON pets FOR EACH ROW EXECUTE FUNCTION f()`,
      /^the trigger hides of pets is not the pet store's: remove it$/,
    ],
    [
      'CREATE RULE quiet AS ON INSERT TO pets DO INSTEAD NOTHING',
      /^the rule quiet of pets is not /,
    ],
    ['ALTER TABLE pets ADD CHECK (category_id < 10)', /^the constraint \w+ of pets is not /],
    ['ALTER TABLE pets SET UNLOGGED', /^the table pets is "UNLOGGED": it must be ""$/],
    [
      'ALTER TABLE pets ALTER category_id TYPE integer',
      /^the column category_id of pets is "integer NOT NULL": it must be "bigint NOT NULL"$/,
    ],
    [
      "INSERT INTO pets VALUES (70, 'by hand', 1, 'sold')",
      /^animals with an id that was never assigned: 1 \(the first is 70\)$/,
    ],
    [
      `UPDATE pet_counter SET last_id = ${LAST_ID_MAX + 1n}`,
      /^the last id is 9223372036853775808: it must be at most 9223372036853775807, /,
    ],
    ['DELETE FROM pet_counter', /^the table pet_counter is empty$/],
    ['DROP TABLE pet_counter', /^the table pet_counter is missing$/],
  ],
};

for (const [name, change] of Object.entries(STORES)) {
  test(`${name}: verify compares the tables, columns, indexes, triggers and views with those of a new store`, async (t) => {
    use(t);
    for (const [sql, problem, warning] of [...BOTH, ...(OF_ONE[name] ?? [])]) {
      const { problems, warnings } = await change(sql);
      const wanted = [problem, warning].map((each) => (each === undefined ? 0 : 1));
      assert.deepEqual([problems.length, warnings.length], wanted, `${sql}: ${String(problems)}`);
      if (problem !== undefined) assert.match(String(problems[0]), problem, sql);
      if (warning !== undefined) assert.match(String(warnings[0]), warning, sql);
    }
  });
}
