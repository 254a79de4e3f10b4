// The console's own requests, outside the interface: they are in no document, and no promise to programs.

import type { Endpoint } from '../operation.ts';
import { changePet, removePet } from './changes.ts';
import { importPets, LIST_BYTES_MAX, LIST_MEDIA_TYPES } from './import.ts';
import { readSession } from './session.ts';

const CHANGE_ERRORS = [
  'invalid_json',
  'missing_field',
  'invalid_field',
  'unknown_field',
  'unknown_parameter',
  'pet_not_found',
  'pet_changed',
  'body_too_large',
  'unsupported_media_type',
] as const;

/** The same checks in the same order as for the operations. */
export const consoleEndpoints: readonly Endpoint[] = [
  {
    id: 'readSession',
    method: 'GET',
    path: '/session',
    scope: undefined,
    parameters: [],
    responses: { 200: 'What the key may do.' },
    errors: ['unknown_parameter'],
    handler: readSession,
  },
  {
    id: 'changePet',
    method: 'POST',
    path: '/pets/{petId}/change',
    scope: 'pets:manage',
    parameters: [],
    responses: { 200: 'The animal is as it was to be.' },
    errors: CHANGE_ERRORS,
    handler: changePet,
  },
  {
    id: 'removePet',
    method: 'POST',
    path: '/pets/{petId}/remove',
    scope: 'pets:manage',
    parameters: [],
    responses: { 200: 'The animal is removed.' },
    errors: CHANGE_ERRORS,
    handler: removePet,
  },
  {
    id: 'importPets',
    method: 'POST',
    path: '/import',
    scope: 'pets:write',
    parameters: ['dry-run', 'columns', 'encoding', 'skip-invalid', 'again'].map((name) => {
      return { name, in: 'query' };
    }),
    accepts: LIST_MEDIA_TYPES,
    bodyBytesMax: LIST_BYTES_MAX,
    responses: { 200: 'What the list adds, or would add.' },
    errors: [
      'invalid_field',
      'invalid_parameter',
      'unknown_parameter',
      'body_too_large',
      'unsupported_media_type',
    ],
    handler: importPets,
  },
];
