import type { Clause } from '../clause.ts';
import { AUTHENTICATION } from './authentication.ts';
import { CREATE_PET } from './create-pet.ts';
import { ERROR_BODY } from './error-body.ts';
import { ERRORS } from './errors.ts';
import { GET_PET } from './get-pet.ts';
import { INTRODUCTION } from './introduction.ts';
import { LIMITS } from './limits.ts';
import { LIST_PETS } from './list-pets.ts';
import { NEW_PET } from './new-pet.ts';
import { OVERVIEW } from './overview.ts';
import { PET } from './pet.ts';
import { STAGING_ADDRESS, STAGING_AUTHENTICATION, STAGING_PREFIX } from './staging.ts';
import { STATES } from './states.ts';
import { VERSIONING } from './versioning.ts';

/** Every sentence of the specification that states a promise, in its order. */
export const CLAUSES: readonly Clause[] = [
  ...INTRODUCTION,
  ...STAGING_ADDRESS,
  ...OVERVIEW,
  ...NEW_PET,
  ...PET,
  ...ERROR_BODY,
  ...STATES,
  ...LIST_PETS,
  ...CREATE_PET,
  ...GET_PET,
  ...AUTHENTICATION,
  STAGING_AUTHENTICATION,
  ...ERRORS,
  ...LIMITS,
  ...VERSIONING,
  STAGING_PREFIX,
];
