import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { curlCommand, KEY_VARIABLE } from './page/curl.ts';

const NUMBER_OF_COMMANDS = 40;

/** The arguments that a real shell passes to curl. A shell function named curl prints them. */
function argumentsInShell(command: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}`;
  const env = { [KEY_VARIABLE]: 'the key', PATH: '/usr/bin:/bin' };
  return execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8', env })
    .split('\0')
    .slice(0, -1);
}

test('a shell passes every name to curl unchanged and runs no part of it', () => {
  const hostile = fc.oneof(
    fc.constantFrom(
      "'; touch /tmp/x; '",
      '$(id)',
      '`id`',
      '\\',
      "''",
      '"',
      '\n',
      '!!',
      '-d @/etc/passwd',
    ),
    fc.string({ unit: 'grapheme' }).filter((name) => !name.includes('\0')),
  );
  const property = fc.property(hostile, (name) => {
    const body = JSON.stringify({ name });
    assert.deepEqual(argumentsInShell(curlCommand('http://pets.example/v1/pets?a=1&b=2', body)), [
      '-H',
      'Authorization: Bearer the key',
      '-H',
      'Content-Type: application/json',
      '-d',
      body,
      'http://pets.example/v1/pets?a=1&b=2',
    ]);
  });
  fc.assert(property, { numRuns: NUMBER_OF_COMMANDS });
});
