// The interface on a real PostgreSQL, as far as it depends on the store. test/interface/sqlite.test.ts has all of it,
// and src/storage/postgres/store.test.ts what every store must do.

import { after } from 'node:test';
import { conformanceTests } from './conformance.ts';
import { createTests } from './creates.ts';
import { listPetsTests } from './list-pets.ts';
import { openPostgresStorage } from '../../harness/postgres-storage.ts';

const postgresStorage = await openPostgresStorage();
after(() => postgresStorage.close());

listPetsTests(postgresStorage);
createTests(postgresStorage);
conformanceTests(postgresStorage);
