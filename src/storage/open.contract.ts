// What stands at a place × who opens it, for every store. The test of opening of each store calls it; what only one store
// can meet stands there.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { StoreUnusable, type Store } from '../domain/store.ts';
import { newStoreIdentity, type Access } from '../domain/store-identity.ts';

export const PRODUCTION = newStoreIdentity('production', { now: new Date(0), randomBytes });
export const LATER = newStoreIdentity('production', { now: new Date(), randomBytes });
export const STAGING = newStoreIdentity('staging', { now: new Date(0), randomBytes });

export const SERVE = { environment: PRODUCTION.environment, identity: PRODUCTION };
export const COMMAND = { environment: 'production', mayMigrate: false } as const;
export const OPENERS: readonly Access[] = [
  COMMAND,
  // A worker.
  { environment: 'production' },
  // A command with --create.
  { ...SERVE, mayMigrate: false },
  SERVE,
];

export interface Place {
  open: (access: Access) => Promise<Store>;
  query: (sql: string) => Promise<unknown[]>;
  /** Changes with everything that an opening may write. */
  contents: () => Promise<unknown>;
}

export interface OpenContract {
  /** With a store or nothing, after this statement. */
  newPlace: (hasStore: boolean, sql?: string) => Promise<Place>;
  /** The statement that sets the version of the schema. */
  setVersion: (version: number) => string;
}

const NO_STORE = /^there is no store at .*: name another place, or start the service there once\.$/;
const OTHER_ENVIRONMENT =
  /is a staging store, and the environment is production: set the environment to staging, or name another /;
const TO_STAGING = "UPDATE store_identity SET environment = 'staging'";
const OTHER_TABLES = 'CREATE TABLE pets (legs integer)';
const everyone = (refusal: RegExp | undefined) => OPENERS.map(() => refusal);

export function openContract(name: string, { newPlace, setVersion }: OpenContract): void {
  const table: [what: string, hasStore: boolean, sql: string, refusals: (RegExp | undefined)[]][] =
    [
      ['nothing', false, '', [NO_STORE, NO_STORE, undefined, undefined]],
      ['a store', true, '', everyone(undefined)],
      [
        'a store without an identity',
        true,
        'DELETE FROM store_identity',
        everyone(/does not say which store it is: move it away, and put a backup in its place\.$/),
      ],
      ['a store of another environment', true, TO_STAGING, everyone(OTHER_ENVIRONMENT)],
      [
        'a newer store',
        true,
        setVersion(99),
        everyone(/version 99, .* needs \d+: use a newer ver/),
      ],
      [
        'an unreleased store',
        true,
        setVersion(7),
        everyone(/version 7, .* before the first release/),
      ],
      ["another program's data", false, OTHER_TABLES, everyone(/another program/)],
    ];
  for (const [what, hasStore, sql, refusals] of table) {
    test(`${name}: ${what} is opened by whom it may be, and a refusal changes nothing`, async () => {
      let place = await newPlace(hasStore, sql);
      for (const [index, access] of OPENERS.entries()) {
        const refusal = refusals[index];
        if (refusal === undefined) {
          await (await place.open(access)).close();
          place = await newPlace(hasStore, sql);
          continue;
        }
        const before = await place.contents();
        await assert.rejects(place.open(access), (error) => {
          assert.ok(error instanceof StoreUnusable);
          assert.match(error.message, refusal);
          assert.ok(!error.message.includes('\n'));
          return true;
        });
        assert.deepEqual(await place.contents(), before);
      }
    });
  }

  test(`${name}: a store gets an identity when it is created, and keeps it`, async () => {
    const place = await newPlace(false);
    for (const identity of [PRODUCTION, LATER]) {
      await (await place.open({ ...SERVE, identity })).close();
      assert.deepEqual(await place.query(IDENTITIES), [[PRODUCTION.id, 'production', 0]]);
    }
  });
}

export const IDENTITIES =
  'SELECT store_id, environment, CAST(created_at AS integer) FROM store_identity';
