import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { newApiKey, newSecret } from '../src/domain/api-key.ts';
import { newIdempotencyClaim } from '../src/domain/idempotency.ts';
import type { NewPet } from '../src/domain/pet.ts';
import { parseAddress } from '../src/storage/postgres/address.ts';
import { openConnection, type Connection } from '../src/storage/postgres/connection.ts';
import { openPostgresStore } from '../src/storage/postgres/store.ts';
import type { PostgresServer } from './postgres-server.ts';
import { NEW_STORE } from './store-identity.ts';

export const REX: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };

/** A store in a new database, with one key. Its claims are for REX. */
export async function openFresh(t: TestContext, server: PostgresServer) {
  const database = await server.createDatabase();
  const warnings: string[] = [];
  const store = await openPostgresStore(server.url(database), {
    ...NEW_STORE,
    onWarning: (message) => warnings.push(message),
  });
  t.after(() => store.close());
  const secret = newSecret('staging', randomBytes);
  const record = newApiKey({ secret, name: 'test', now: new Date(), randomBytes });
  await store.createApiKey(record);
  const newClaim = (key = 'once') =>
    newIdempotencyClaim(key, REX, { apiKeyId: record.id, now: new Date() });
  return { store, database, newClaim, warnings };
}

/** One connection to the first host of an address. */
export function openTo(url: string): Promise<Connection> {
  const address = parseAddress(url);
  const [host] = address.hosts;
  if (host === undefined) throw new Error(`${url} names no host`);
  return openConnection(address, host);
}
