export { PetStore } from './client.ts';
export { PetStoreError } from './error.ts';
export { PET_STATUSES, stringify } from './json.ts';
export type {
  CallOptions,
  ClientErrorCode,
  CreateOptions,
  ErrorCode,
  ListOptions,
  NewPet,
  Pet,
  PetList,
  PetPage,
  Pets,
  PetStatus,
  PetStoreOptions,
  ServiceErrorCode,
} from './types.ts';
