// What the OpenAPI document allows, the service accepts, and each response has a status, headers and a body that it
// declares: Schemathesis tries it. `npm run test:generators` runs this file.

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { newSecret } from '../../src/domain/api-key.ts';
import { run } from '../../harness/command.ts';
import { needs } from '../../harness/needs.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { unreachable } from '../../harness/tools.ts';
import { ROOT } from './programs.ts';

const PACKAGE = 'schemathesis==4.32.5';
const VENV = join(ROOT, 'artifacts', 'schemathesis');
const SEED = '1';
const EXAMPLES = '50';
/** Only the run with the full key has all examples. */
const FEW_EXAMPLES = '10';
const execute = promisify(execFile);

const RUNS = [
  { name: 'the full key', key: 'full', flags: [], examples: EXAMPLES },
  { name: 'a read-only key', key: 'read-only', flags: [], examples: FEW_EXAMPLES },
  { name: 'no key', key: 'none', flags: [], examples: FEW_EXAMPLES },
  { name: 'a rate limit', key: 'full', flags: ['--rate-limit', '50/1s'], examples: FEW_EXAMPLES },
  { name: 'two workers', key: 'full', flags: ['--workers', '2'], examples: FEW_EXAMPLES },
] as const;

const skip = await install();
const server = skip === false ? await PostgresServer.start() : undefined;
after(() => server?.close());

async function install(): Promise<string | false> {
  if (spawnSync('python3', ['-c', 'import venv, ensurepip']).status !== 0) {
    return needs('Python with venv', false);
  }
  try {
    await execute('python3', ['-m', 'venv', VENV]);
    await execute(join(VENV, 'bin', 'pip'), ['install', '--quiet', '--retries=1', PACKAGE]);
    return false;
  } catch (error) {
    const reason = unreachable(error);
    if (reason === undefined) throw error;
    return needs(`the npm registry: ${reason}`, false);
  }
}

for (const store of ['SQLite', 'PostgreSQL']) {
  for (const { name, key, flags, examples } of RUNS) {
    test(`Schemathesis finds nothing with ${name} on ${store}`, { skip }, async (t) => {
      const data = temporaryFolder(t);
      const database = store === 'SQLite' ? undefined : server?.url(await server.createDatabase());
      const full = newSecret('production', randomBytes);
      const options = { data, database, key: full, flags: ['--log', 'info', ...flags] };
      const service = await ServiceProcess.start(options);
      const place = database === undefined ? ['--data', data] : ['--database', database];
      const used = { full, 'read-only': await newReadOnlyKey(place), none: '' }[key];
      await runSchemathesis(service.baseUrl, used, examples);
      assert.equal(service.countLogLines('"level":"error"'), 0);
      assert.deepEqual(await service.stop(), []);
    });
  }
}

async function newReadOnlyKey(place: readonly string[]): Promise<string> {
  const words = ['keys', 'create', '--name', 'reader', '--scopes', 'pets:read', '--json'];
  const { stdout } = await run([...words, ...place]);
  return (JSON.parse(stdout) as { key: string }).key;
}

/** Throws what Schemathesis prints if a check has failed. */
async function runSchemathesis(baseUrl: string, key: string, examples: string): Promise<void> {
  const words = [
    'run',
    `${new URL(baseUrl).origin}/openapi.json`,
    `--url=${baseUrl}`,
    '--checks=all',
    // hooks.py has it with the refusals that no schema can express.
    '--exclude-checks=positive_data_acceptance',
    '--phases=examples,coverage,fuzzing,stateful',
    `--max-examples=${examples}`,
    `--seed=${SEED}`,
    ...(key === '' ? [] : [`--header=Authorization: Bearer ${key}`]),
    '--continue-on-failure',
    '--no-color',
  ];
  const env = {
    PATH: `${join(VENV, 'bin')}:/usr/bin:/bin`,
    PYTHONPATH: import.meta.dirname,
    SCHEMATHESIS_HOOKS: 'hooks',
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const options = { cwd: VENV, env, maxBuffer: 2 ** 28 };
  await execute(join(VENV, 'bin', 'schemathesis'), words, options).catch(
    ({ stdout, message }: Error & { stdout?: string }) => assert.fail(`${message}\n${stdout}`),
  );
}
