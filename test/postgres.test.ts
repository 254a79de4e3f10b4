// The whole interface, end to end over a real socket, on a real PostgreSQL.

import { after, before } from 'node:test';
import { accessTests } from './interface/access.ts';
import { conformanceTests } from './interface/conformance.ts';
import { createPetTests } from './interface/create-pet.ts';
import { getPetTests } from './interface/get-pet.ts';
import { idempotencyTests } from './interface/idempotency.ts';
import { listPetsTests } from './interface/list-pets.ts';
import { PostgresServer } from './postgres-server.ts';
import type { TestStorage } from './test-service.ts';

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
