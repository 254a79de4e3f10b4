import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..', '..');

test('npm run lint finds nothing: format, rules and types', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const options = { cwd: ROOT, shell: process.platform === 'win32' };
  execFile('npm', ['run', '--silent', 'lint'], options, (error, stdout, stderr) =>
    resolve(error === null ? '' : stdout + stderr),
  );
  assert.equal(await promise, '');
});
