import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allTestFiles, filesOf, SUITES, unitTestFiles } from './suites.ts';

test('every test file runs: it is in a suite, or one of the unit tests', () => {
  const run = new Set([...Object.keys(SUITES).flatMap(filesOf), ...unitTestFiles()]);
  const left = allTestFiles().filter((file) => !run.has(file));
  assert.deepEqual(left, [], 'Move the file, or add its folder to harness/suites.ts.');
});
