// The interface on a real PostgreSQL, as far as it depends on the store. test/interface/sqlite.test.ts has all of it,
// and src/storage/postgres/store.test.ts what every store must do.

import { after, before } from 'node:test';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import { conformanceTests } from './conformance.ts';
import { createPetTests } from './create-pet.ts';
import { idempotencyTests } from './idempotency.ts';
import { listPetsTests } from './list-pets.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import type { TestStorage } from '../../harness/test-service.ts';

let server: PostgresServer;
/** A database with an empty store. Copying it is faster than running all migrations for every service. */
let empty: string;
before(async () => {
  server = await PostgresServer.start();
  empty = await server.createDatabase();
  await (await openPostgresStore(server.url(empty))).close();
});
after(() => server.close());

const postgresStorage: TestStorage = {
  name: 'PostgreSQL',
  async newDatabase() {
    return {
      flags: ['--database', server.url(await server.createDatabase(empty))],
      remove: async () => undefined,
    };
  },
};

listPetsTests(postgresStorage);
createPetTests(postgresStorage);
idempotencyTests(postgresStorage);
conformanceTests(postgresStorage);
