// The whole interface, end to end over a real socket, on SQLite.

import { accessContract } from './contract/access.ts';
import { conformanceContract } from './contract/conformance.ts';
import { createPetContract } from './contract/create-pet.ts';
import { getPetContract } from './contract/get-pet.ts';
import { idempotencyContract } from './contract/idempotency.ts';
import { listPetsContract } from './contract/list-pets.ts';
import { sqliteStorage } from './test-service.ts';

listPetsContract(sqliteStorage);
createPetContract(sqliteStorage);
idempotencyContract(sqliteStorage);
getPetContract(sqliteStorage);
accessContract(sqliteStorage);
conformanceContract(sqliteStorage);
