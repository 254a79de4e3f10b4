import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Creates } from './creates.ts';

test('a drill notices an id that was acknowledged for two animals, but not a repeated response', () => {
  const creates = new Creates();
  const [first, second] = [creates.begin(), creates.begin()];
  creates.acknowledge(first, JSON.stringify({ id: 1, name: first }));
  creates.acknowledge(first, JSON.stringify({ id: 1, name: first }));
  assert.deepEqual(creates.violations, []);
  creates.acknowledge(second, JSON.stringify({ id: 1, name: second }));
  assert.deepEqual(creates.violations, [`1 is the id of both ${first} and ${second}`]);
});

test('a drill reads the highest id that was acknowledged, also when a lower one is acknowledged later', () => {
  const creates = new Creates();
  const [first, second] = [creates.begin(), creates.begin()];
  creates.acknowledge(first, JSON.stringify({ id: 2, name: first }));
  creates.acknowledge(second, JSON.stringify({ id: 1, name: second }));
  assert.equal(creates.newest?.id, 2);
});
