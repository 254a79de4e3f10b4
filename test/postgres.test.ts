// The whole interface, end to end over a real socket, on a real PostgreSQL.

import { after, before } from 'node:test';
import { accessContract } from './contract/access.ts';
import { conformanceContract } from './contract/conformance.ts';
import { createPetContract } from './contract/create-pet.ts';
import { getPetContract } from './contract/get-pet.ts';
import { idempotencyContract } from './contract/idempotency.ts';
import { listPetsContract } from './contract/list-pets.ts';
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

listPetsContract(postgresStorage);
createPetContract(postgresStorage);
idempotencyContract(postgresStorage);
getPetContract(postgresStorage);
accessContract(postgresStorage);
conformanceContract(postgresStorage);
