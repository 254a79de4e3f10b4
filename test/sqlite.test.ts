// The whole interface, end to end over a real socket, on SQLite.

import { accessTests } from './interface/access.ts';
import { conformanceTests } from './interface/conformance.ts';
import { createPetTests } from './interface/create-pet.ts';
import { getPetTests } from './interface/get-pet.ts';
import { idempotencyTests } from './interface/idempotency.ts';
import { listPetsTests } from './interface/list-pets.ts';
import { sqliteStorage } from './test-service.ts';

listPetsTests(sqliteStorage);
createPetTests(sqliteStorage);
idempotencyTests(sqliteStorage);
getPetTests(sqliteStorage);
accessTests(sqliteStorage);
conformanceTests(sqliteStorage);
