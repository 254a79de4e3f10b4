import { openPostgresStore } from '../src/storage/postgres/store.ts';
import { PostgresServer } from './postgres-server.ts';
import type { TestStorage } from './test-service.ts';
import { NEW_STORE } from './store-identity.ts';

/** A PostgreSQL. Copying an empty store is faster than running all migrations for every service. */
export async function openPostgresStorage(): Promise<TestStorage & { close(): Promise<void> }> {
  const server = await PostgresServer.start();
  const empty = await server.createDatabase();
  await (await openPostgresStore(server.url(empty), NEW_STORE)).close();
  return {
    name: 'PostgreSQL',
    async newDatabase() {
      return {
        flags: ['--database', server.url(await server.createDatabase(empty))],
        remove: async () => undefined,
      };
    },
    close: () => server.close(),
  };
}
