import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import areas from './areas.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '../..');

test('each pattern of areas.json matches a test file, so that none is left out when it moves', () => {
  const missing = Object.values(areas)
    .flat()
    .filter((pattern) => globSync(pattern, { cwd: ROOT }).length === 0);
  assert.deepEqual(missing, []);
});
