import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorBody, ErrorCode } from '../../src/domain/errors.ts';
import type {
  NewPet as DomainNewPet,
  Pet as DomainPet,
  PET_STATUSES as DOMAIN_PET_STATUSES,
  PetStatus as DomainPetStatus,
} from '../../src/domain/pet.ts';
import type { NewPet, Pet, PET_STATUSES, PetStatus, ServiceErrorCode } from './index.ts';

type Equal<A, B> = [A, B] extends [B, A] ? true : false;
type RequiredKeys<T> = { [Key in keyof T]-?: undefined extends T[Key] ? never : Key }[keyof T];

// The compiler checks this: its line is an error if a type differs from that of the service.
const proofs: [
  pet: Equal<Pet, DomainPet>,
  status: Equal<PetStatus, DomainPetStatus>,
  statuses: Equal<typeof PET_STATUSES, typeof DOMAIN_PET_STATUSES>,
  fieldsOfNewPet: Equal<keyof NewPet, keyof DomainNewPet>,
  requiredOfNewPet: Equal<RequiredKeys<NewPet>, 'name' | 'categoryId'>,
  newPetIsAccepted: DomainNewPet extends NewPet ? true : false,
  code: Equal<ServiceErrorCode, Exclude<ErrorCode, 'pet_changed'>>,
  codeOfBody: Equal<string, ErrorBody['code']>,
] = [true, true, true, true, true, true, true, true];

test('the types of the library are those of the service', () => {
  assert.ok(proofs.every(Boolean));
});
