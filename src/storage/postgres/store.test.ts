import { after, before } from 'node:test';
import { PostgresServer } from '../../../harness/postgres-server.ts';
import { NEW_STORE } from '../../../harness/store-identity.ts';
import { storeContract } from '../store.contract.ts';
import { openPostgresStore } from './store.ts';

let server: PostgresServer;
/** A database with an empty store. Copying it is faster than running all migrations for every test. */
let empty: string;
before(async () => {
  server = await PostgresServer.start();
  empty = await server.createDatabase();
  await (await openPostgresStore(server.url(empty), NEW_STORE)).close();
});
after(() => server.close());

storeContract('PostgreSQL', {
  // PostgreSQL cannot tell without a query whether another process has committed.
  hasVersion: false,
  async newSubject() {
    const database = await server.createDatabase(empty);
    return {
      open: () => openPostgresStore(server.url(database), NEW_STORE),
      async countCommits() {
        // Every row carries the number of the transaction that stored it.
        const [row] = await server.query('SELECT count(DISTINCT xmin::text) FROM pets', database);
        return Number(row?.[0]);
      },
      async countClaims() {
        const [row] = await server.query('SELECT count(*) FROM idempotency_keys', database);
        return Number(row?.[0]);
      },
    };
  },
});
