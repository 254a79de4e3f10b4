import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { programName, shellQuoted } from './program-name.ts';

const ROOT = join(import.meta.dirname, '../..');

test('a text names the command of a clone by its file, and any other by its name', () => {
  for (const script of ['petstore', 'bin/petstore.cjs', 'bin/petstore.js']) {
    assert.equal(programName(join(ROOT, script)), './petstore', script);
  }
  for (const script of ['/usr/local/bin/petstore', '/a/node_modules/.bin/petstore', '']) {
    assert.equal(programName(script), 'petstore', script);
  }
});

test('a word is quoted for a shell only where it must be', () => {
  assert.equal(shellQuoted('data/pets-1'), 'data/pets-1');
  assert.equal(shellQuoted("it's mine"), String.raw`'it'\''s mine'`);
});
