// The whole interface, end to end over a real socket, on SQLite.

import { accessTests } from './access.ts';
import { conformanceTests } from './conformance.ts';
import { createTests } from './creates.ts';
import { listPetsTests } from './list-pets.ts';
import { sqliteStorage } from '../../harness/test-service.ts';

listPetsTests(sqliteStorage);
createTests(sqliteStorage);
accessTests(sqliteStorage);
conformanceTests(sqliteStorage);
