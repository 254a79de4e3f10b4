import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { commandsDocument } from '../../scripts/commands.ts';

test('docs/commands.md has the help of every command; npm run commands updates it', async () => {
  const kept = readFileSync(new URL('../../docs/commands.md', import.meta.url), 'utf8');
  assert.equal(kept, await commandsDocument());
});

test('every help has a purpose, two examples or more, and the exit codes', async () => {
  for (const section of (await commandsDocument()).split('\n## ').slice(1)) {
    assert.match(section, /\nUsage: petstore.*\n\n[A-Z][^.]*\.\n\n/, section);
    const isGroup = section.includes('\nCommands:\n');
    if (!isGroup) assert.match(section, /\nExamples:\n(?: {2}petstore .*\n){2,}/, section);
    assert.match(
      section,
      /\nExit codes: 0 success, 1 failure, 2 wrong use or settings\.\n/,
      section,
    );
    // A line of a terminal with 100 columns.
    for (const line of section.split('\n')) assert.ok(line.length <= 100, line);
  }
});
