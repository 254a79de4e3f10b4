// The programs of docs/clients.md, their expected output, and a service for them.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { sqliteStorage, startTestService, type TestService } from '../../harness/test-service.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The first address of the page, which every program and command has. */
export const DOCUMENTED_ORIGIN = 'http://127.0.0.1:8080';
export const IS_NEWEST = process.env['PETSTORE_GENERATORS'] === 'newest';
/** An odd number above 2^53, which a double cannot represent. */
const ID = 2n ** 53n + 1n;
const ANIMALS = 5;

/** What every program prints. The first one to run creates the animal; the others repeat the create. */
export const OUTPUT = `${ID} Rex 🐶
${ID}
${ANIMALS} animals
400 invalid_cursor cursor is not valid: use "last", or the one in the rel="next" or rel="prev" link of a page.
401 invalid_api_key The API key is malformed; was it copied completely?
404 pet_not_found No animal has this id.
`;

/** The text of each code block below a heading of the page, by its language. */
export function blocksOf(heading: string, page = 'docs/clients.md'): Record<string, string> {
  const markdown = readFileSync(join(ROOT, page), 'utf8');
  const section = markdown.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const blocks = [...section.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  assert.ok(blocks.length >= 2, `"${heading}" has ${blocks.length} blocks`);
  return Object.fromEntries(blocks.map(([, language = '', text = '']) => [language, text]));
}

/** Starts a service whose next animal has an id above 2^53. */
export async function startService(): Promise<TestService> {
  const service = await startTestService(sqliteStorage, { logLevel: 'silent' });
  for (let count = 1; count < ANIMALS; count += 1) {
    const body = JSON.stringify({ name: `Animal ${count}`, categoryId: 1 });
    assert.equal((await service.send('/pets', { method: 'POST', body })).status, 201);
  }
  const file = join(service.flags[1] ?? '', 'production', 'petstore.sqlite');
  const database = new DatabaseSync(file);
  database.prepare("UPDATE sqlite_sequence SET seq = ? WHERE name = 'pets'").run(ID - 1n);
  database.close();
  return service;
}
