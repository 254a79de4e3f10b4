import { randomBytes } from 'node:crypto';
import { newApiKey, newSecret } from '../../src/domain/api-key.ts';
import type { Store } from '../../src/domain/store.ts';

/** Claims belong to a key: stores one and answers its id. */
export async function createDrillKey(store: Store): Promise<string> {
  const secret = newSecret('staging', randomBytes);
  const { record } = newApiKey({ secret, name: 'drill', now: new Date(), randomBytes });
  await store.createApiKey(record);
  return record.id;
}
