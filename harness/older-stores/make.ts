// Makes the stores of an older version in this folder. They are made once and stay as they are:
//
//   node harness/older-stores/make.ts VERSION EMPTY_DATABASE_URL
//
// It needs the history of the repository, sqlite3 and pg_dump.
//
// All stores have the same content. An animal was removed by SQL, so that the highest id is not the last one.
// The idempotency keys expire in 2100 instead of after one day. The first key has called the deprecated operation,
// which version 1.0.0 does not store.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { checkOut, type OlderVersion } from '../older-version.ts';
import { ServiceProcess } from '../service-process.ts';
import { run } from '../command.ts';
import { send } from '../test-service.ts';
import { FIXTURE_KEY, READ_ONLY_NAME, REVOKED_NAME } from './older-stores.ts';

const ANIMALS = [
  '{"name":"Rex","categoryId":1}',
  '{"name":"Größe 🐕","categoryId":9223372036854775807,"status":"sold"}',
  '{"name":"Tom","categoryId":-9223372036854775808,"status":"pending"}',
];
const CLAIMED = '{"name":"Claimed","categoryId":7,"status":"sold"}';
const REMOVED = '{"name":"Removed","categoryId":1}';
const AFTERWARDS = `DELETE FROM pets WHERE name = 'Removed';
  UPDATE idempotency_keys SET expires_at = 4102444800000;`;

const FOLDER = fileURLToPath(new URL('./', import.meta.url));
const [version = '', databaseUrl = ''] = process.argv.slice(2);
const older = checkOut(version as OlderVersion, { isServing: true });
const data = mkdtempSync(join(tmpdir(), 'petstore-fixture-'));
const file = join(data, 'staging', 'petstore.sqlite');

await fill(['--env', 'staging', '--data', data]);
execFileSync('sqlite3', [file, AFTERWARDS, 'PRAGMA wal_checkpoint(TRUNCATE)']);
const packed = gzipSync(readFileSync(file), { level: 9 });
writeFileSync(join(FOLDER, `store-${version}.sqlite.gz`), packed);
rmSync(data, { recursive: true });

await fill(['--env', 'staging', '--database', databaseUrl]);
execFileSync('psql', [databaseUrl, '-c', AFTERWARDS]);
const dump = execFileSync('pg_dump', ['--inserts', '--no-owner', '--no-privileges', databaseUrl]);
writeFileSync(join(FOLDER, `store-${version}.sql`), statementsOf(dump.toString()));

async function fill(flags: string[]): Promise<void> {
  const service = await ServiceProcess.start({ flags, key: FIXTURE_KEY, main: older });
  const create = (body: string, headers: Record<string, string> = {}) =>
    send(`${service.baseUrl}/pets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${FIXTURE_KEY}`, ...headers },
      body,
    });
  for (const animal of ANIMALS) await create(animal);
  await create(CLAIMED, { 'idempotency-key': 'claim-1' });
  await service.stop();
  const importFile = join(tmpdir(), 'imported.ndjson');
  writeFileSync(importFile, '{"name":"Imported","categoryId":2}\n'.repeat(2));
  await petstore('import', importFile, ...flags);
  rmSync(importFile);
  await petstore('keys', 'create', '--name', READ_ONLY_NAME, '--scopes', 'pets:read', ...flags);
  await petstore('keys', 'create', '--name', REVOKED_NAME, ...flags);
  const list = await petstore('keys', 'list', ...flags);
  const revoked = list.split('\n').find((line) => line.includes(REVOKED_NAME));
  await petstore('keys', 'revoke', /key_\w+/.exec(revoked ?? '')?.[0] ?? '', ...flags);
  const again = await ServiceProcess.start({ flags, key: FIXTURE_KEY, main: older });
  await send(`${again.baseUrl}/pets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${FIXTURE_KEY}` },
    body: REMOVED,
  });
  const headers = { authorization: `Bearer ${FIXTURE_KEY}` };
  await send(`${again.baseUrl}/pets/1`, { headers });
  await again.stop();
}

async function petstore(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args, { command: [process.execPath, older] });
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

/** The dump without its comments, the commands of psql, and settings that not every version has. */
function statementsOf(text: string): string {
  const kept = text.split('\n').filter((line) => !/^(?:--|\\|SET |$)/.test(line));
  return `${kept.join('\n')}\n`;
}
