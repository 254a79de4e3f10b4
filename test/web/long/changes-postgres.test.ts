// The day in a shop is the same on PostgreSQL.

import { after } from 'node:test';
import { openPostgresStorage } from '../../../harness/postgres-storage.ts';
import { runStories } from '../story.ts';

const storage = await openPostgresStorage();
runStories(new URL('../changes.txt', import.meta.url), storage);
runStories(new URL('changes.txt', import.meta.url), storage, 'two windows');
after(() => storage.close());
