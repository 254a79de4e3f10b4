// The whole interface, end to end over a real socket, on SQLite.

import { accessTests } from './access.ts';
import { conformanceTests } from './conformance.ts';
import { createPetTests } from './create-pet.ts';
import { getPetTests } from './get-pet.ts';
import { idempotencyTests } from './idempotency.ts';
import { listPetsTests } from './list-pets.ts';
import { sqliteStorage } from '../../harness/test-service.ts';

listPetsTests(sqliteStorage);
createPetTests(sqliteStorage);
idempotencyTests(sqliteStorage);
getPetTests(sqliteStorage);
accessTests(sqliteStorage);
conformanceTests(sqliteStorage);
