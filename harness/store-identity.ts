import { randomBytes } from 'node:crypto';
import { newStoreIdentity } from '../src/domain/store-identity.ts';

/** For a store that a test makes where there is none. */
export const NEW_STORE = {
  identity: newStoreIdentity('production', { now: new Date(0), randomBytes }),
};
