import { randomBytes } from 'node:crypto';
import { newStoreIdentity } from '../src/domain/store-identity.ts';

/** The option that makes a test create its store. */
export const NEW_STORE = {
  identity: newStoreIdentity('production', { now: new Date(0), randomBytes }),
};
