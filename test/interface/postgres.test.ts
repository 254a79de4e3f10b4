// The whole interface, end to end over a real socket, on a real PostgreSQL.

import { after, before } from 'node:test';
import { accessTests } from './access.ts';
import { conformanceTests } from './conformance.ts';
import { createPetTests } from './create-pet.ts';
import { getPetTests } from './get-pet.ts';
import { idempotencyTests } from './idempotency.ts';
import { listPetsTests } from './list-pets.ts';
import { PostgresServer } from '../support/postgres-server.ts';
import type { TestStorage } from '../support/test-service.ts';

let server: PostgresServer;
before(async () => {
  server = await PostgresServer.start();
});
after(() => server.close());

const postgresStorage: TestStorage = {
  name: 'PostgreSQL',
  async newDatabase() {
    return {
      flags: ['--database', server.url(await server.createDatabase())],
      remove: async () => undefined,
    };
  },
};

listPetsTests(postgresStorage);
createPetTests(postgresStorage);
idempotencyTests(postgresStorage);
getPetTests(postgresStorage);
accessTests(postgresStorage);
conformanceTests(postgresStorage);
