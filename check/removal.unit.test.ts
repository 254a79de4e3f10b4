import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireGetPet, requireRemovedGetPet } from './removal.ts';
import { NotCheckable } from './verdict.ts';

test('getPet must exist until 5 December 2030 begins anywhere, and not after it has ended everywhere', () => {
  requireGetPet(new Date('2030-12-04T09:59:59.999Z'));
  assert.throws(() => requireGetPet(new Date('2030-12-04T10:00:00Z')), NotCheckable);
  assert.throws(() => requireRemovedGetPet(new Date('2030-12-06T11:59:59.999Z')), NotCheckable);
  requireRemovedGetPet(new Date('2030-12-06T12:00:00Z'));
});
