// Every example in the help of every command, run as a person would run it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, cpSync, globSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pathsOf } from '../../scripts/commands.ts';
import type { Command, CommandGroup } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { loadAll } from '../../src/cli/execute.ts';
import { hashApiKey, type ApiKey } from '../../src/domain/api-key.ts';
import { ENVIRONMENTS } from '../../src/domain/key-form.ts';
import { newStoreIdentity } from '../../src/domain/store-identity.ts';
import { openSqliteStore } from '../../src/storage/sqlite/store.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { freePort } from '../../harness/free-port.ts';
import { runHere, type Finished } from '../../harness/command.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { sqliteStorage, startTestService, type TestService } from '../../harness/test-service.ts';
import { NEW_STORE } from '../../harness/store-identity.ts';

const EXAMPLE_MS_MAX = 60_000;
const root = await loadAll(COMMANDS);

function find(path: readonly string[]): Command | CommandGroup {
  return path.reduce<Command | CommandGroup>((found, name) => {
    const member = 'commands' in found ? found.commands[name] : undefined;
    assert.ok(member, name);
    return member;
  }, root);
}

interface Services {
  production: TestService;
  adminPort: number;
  postgres: PostgresServer;
  databaseUrl: string;
}

let services: Services;
before(async () => {
  const adminPort = await freePort();
  const [production, postgres] = await Promise.all([
    startTestService(sqliteStorage, { flags: ['--admin-port', String(adminPort)] }),
    PostgresServer.start({ isDurable: false }),
  ]);
  await production.send('/pets', { method: 'POST', body: '{"name":"Rex","categoryId":7}' });
  const databaseUrl = postgres.url(await postgres.createDatabase());
  services = { production, adminPort, postgres, databaseUrl };
});
after(async () => {
  await Promise.all([services.production.close(), services.postgres.close()]);
});

const SHOP_KEY: Omit<ApiKey, 'hash'> = {
  id: 'key_4fR9sT0aBc',
  firstKeyId: 'key_4fR9sT0aBc',
  name: 'shop',
  scopes: ['pets:read'],
  createdAt: new Date(),
  expiresAt: undefined,
  revokedAt: undefined,
  lastUsedAt: undefined,
  lastDeprecatedCallAt: undefined,
};

/** A folder with everything that an example names: the stores of both environments, and files. */
let everything = '';
before(async () => {
  everything = temporaryFolder();
  for (const environment of ENVIRONMENTS) {
    mkdirSync(join(everything, 'data', environment), { recursive: true });
    const identity = newStoreIdentity(environment, { now: new Date(), randomBytes });
    const file = join(everything, 'data', environment, 'petstore.sqlite');
    const store = openSqliteStore(file, { identity });
    await store.importPets(
      ['Rex', 'Tom', 'Ada'].map((name) => ({ name, categoryId: 7n, status: 'available' })),
    );
    await store.createApiKey({ ...SHOP_KEY, hash: hashApiKey(environment) });
    await store.close();
  }
  copyFileSync(
    join(everything, 'data', 'production', 'petstore.sqlite'),
    join(everything, 'sunday.sqlite'),
  );
  // The store is newer than its backup of Sunday.
  const store = openSqliteStore(
    join(everything, 'data', 'production', 'petstore.sqlite'),
    NEW_STORE,
  );
  await store.createPet({ name: 'Max', categoryId: 7n, status: 'available' });
  await store.close();
  writeFileSync(join(everything, 'animals.ndjson'), '{"name":"Rex","categoryId":7}\n');
  writeFileSync(join(everything, 'animals.csv'), 'name,categoryId\nRex,7\n');
  writeFileSync(
    join(everything, 'tiere.csv'),
    Buffer.from('Nr.;Tier;Art-Nr.\n1;L\u00f6we;7\n', 'latin1'),
  );
  mkdirSync(join(everything, 'bin'));
  mkdirSync(join(everything, 'backups'));
  const launcher = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url));
  symlinkSync(launcher, join(everything, 'bin', 'petstore'));
});

async function runExample(cwd: string, example: string): Promise<Finished> {
  cpSync(everything, cwd, { recursive: true, verbatimSymlinks: true });
  const { production, adminPort, databaseUrl } = services;
  const line = example.replace('--admin-port 9465', `--admin-port ${adminPort}`);
  const env: Record<string, string> = {
    ...(example.startsWith('copy') && { DATABASE_URL: databaseUrl }),
  };
  if (example.startsWith('serve')) {
    return runInShell(`exec petstore ${line}`, cwd, {
      ...env,
      PETSTORE_PORT: '0',
      PETSTORE_ADMIN_PORT: 'off',
    });
  }
  env['PETSTORE_PORT'] = new URL(production.baseUrl).port;
  // Only a shell understands the others.
  if (!/^[\w @%+=:,./-]+$/.test(line)) return runInShell(`petstore ${line}`, cwd, env);
  const words = line
    .split(' ')
    .map((word) => (isFile(word) ? join(cwd, word) : word.replace('sqlite:', `sqlite:${cwd}/`)));
  return runHere(words, { env: { PETSTORE_DATA: join(cwd, 'data'), ...env } });
}

/** Whether a word of an example is a path below its folder. */
const isFile = (word: string) => /^[a-z][\w-]*(?:\/|\.\w+)$/.test(word);

/** Runs a line as a person would. A service is stopped once it has started. */
async function runInShell(
  line: string,
  cwd: string,
  env: Record<string, string>,
): Promise<Finished> {
  const child = spawn('sh', ['-c', line], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: [join(cwd, 'bin'), dirname(process.execPath), process.env['PATH']].join(':'),
      ...env,
    },
  });
  const overdue = setTimeout(() => child.kill('SIGKILL'), EXAMPLE_MS_MAX);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => {
    const wasStarted = stderr.includes('"msg":"started"');
    stderr += chunk.toString();
    if (!wasStarted && stderr.includes('"msg":"started"')) child.kill('SIGTERM');
  });
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(overdue);
  return { code, stdout, stderr };
}

describe('Examples of the help', () => {
  for (const path of pathsOf(root)) {
    const command = find(path);
    if ('commands' in command) continue;
    test(`petstore ${path.join(' ')}: every example works`, async (t) => {
      assert.ok(command.examples.length >= 2);
      for (const example of command.examples) {
        assert.ok(example.startsWith(path.join(' ')), example);
        const cwd = temporaryFolder(t);
        const { code, stdout, stderr } = await runExample(cwd, example);
        assert.equal(code, 0, `petstore ${example}\n${stdout}\n${stderr}`);
        const logs = globSync('data/*/*-wal', { cwd });
        assert.deepEqual(logs, [], `petstore ${example} has closed its store`);
        if (example.endsWith('--json')) assert.doesNotThrow(() => parseLines(stdout), stdout);
      }
    });
  }
});

/** One JSON document, or one per line. */
function parseLines(text: string): void {
  try {
    JSON.parse(text);
  } catch {
    for (const line of text.trimEnd().split('\n')) JSON.parse(line);
  }
}
