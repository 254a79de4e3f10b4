// The responses that requests.test.ts records are the same on PostgreSQL.

import { after } from 'node:test';
import { openPostgresStorage } from '../../harness/postgres-storage.ts';
import { recordedRequests } from './requests.ts';

const storage = await openPostgresStorage();
// The windows of a rate limit are measured by the clock of the database, which no test can set.
recordedRequests(storage, { leftOut: '--rate-limit' });
after(() => storage.close());
