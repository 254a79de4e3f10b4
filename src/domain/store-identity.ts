import { randomText, type RandomBytes } from './api-key.ts';
import type { Environment } from './key-form.ts';
import { StoreUnusable } from './store.ts';

/** Which store this is. A backup and a copy have the identity of the store they were made from. */
export interface StoreIdentity {
  id: string;
  environment: Environment;
  createdAt: Date;
}

/** Which store is expected, and what may be changed to open it. */
export interface Access {
  /** A store of another environment is refused. */
  environment?: Environment;
  /** A store that does not exist is created with this identity. Without one, it is refused. */
  identity?: StoreIdentity | undefined;
  /** Whether the schema of an earlier version is brought up to date. By default it is. */
  mayMigrate?: boolean;
}

const ID_LENGTH = 16;

export function newStoreIdentity(
  environment: Environment,
  { now, randomBytes }: { now: Date; randomBytes: RandomBytes },
): StoreIdentity {
  return { id: randomText(ID_LENGTH, randomBytes), environment, createdAt: now };
}

/** Refuses a store of another environment; `other` says how to name another store. */
export function requireEnvironment(
  found: StoreIdentity,
  wanted: Environment | undefined,
  { store, other }: { store: string; other: string },
): void {
  if (wanted === undefined || found.environment === wanted) return;
  throw new StoreUnusable(
    `${store} is a ${found.environment} store, and the environment is ${wanted}: set the environment to ${found.environment}, or ${other}.`,
  );
}
