import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { filesOf, SUITES, unitTestFiles } from './suites.ts';

const ROOT = join(import.meta.dirname, '..');
const exclude = ['**/node_modules/**', 'artifacts/**', 'dist/**'];

test('every test file runs: it is in a suite, or one of the unit tests', () => {
  const run = new Set([...Object.keys(SUITES).flatMap(filesOf), ...unitTestFiles()]);
  const left = globSync('**/*.test.ts', { cwd: ROOT, exclude }).filter((file) => !run.has(file));
  assert.deepEqual(left, [], 'Move the file, or add its folder to test/suites.ts.');
});
