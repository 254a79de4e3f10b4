import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { loadConfig } from '../../src/config.ts';
import { newApiKey, newSecret } from '../../src/domain/api-key.ts';
import { openConfiguredStore } from '../../src/service.ts';
import { flagsOf } from '../../test/support/test-service.ts';
import type { DrillOptions, DrillReport } from '../drill.ts';
import { ServiceProcess } from '../service-process.ts';
import { onBothStores, type StoreChoice } from '../stores.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { FuzzReport } from './report.ts';

const SCHEMATHESIS = 'schemathesis==4.32.5';
const PHASES = 'examples,coverage,fuzzing,stateful';
/** Only the run with the full key has all examples. */
const SHARE_OF_OTHER_RUNS = 10;
const EXAMPLES_MIN = 10;
const RUN_MS_MAX = 60 * 60 * 1000;
const execute = promisify(execFile);

type KeyChoice = 'full' | 'read-only' | 'none';

const RUNS: readonly { name: string; key: KeyChoice; flags: readonly string[] }[] = [
  { name: 'full key', key: 'full', flags: [] },
  { name: 'read-only key', key: 'read-only', flags: [] },
  { name: 'no key', key: 'none', flags: [] },
  { name: 'rate limit', key: 'full', flags: ['--rate-limit', '50/1s'] },
  { name: 'workers', key: 'full', flags: ['--workers', '2'] },
];

export interface FuzzOptions extends DrillOptions {
  /** Only the first run, on SQLite. */
  isShort?: boolean;
  /** These break the service on purpose. */
  nodeFlags?: readonly string[];
}

export function findMissing(): string | undefined {
  const { status } = spawnSync('python3', ['-c', 'import venv, ensurepip']);
  return status === 0 ? undefined : 'Python with venv is not installed';
}

/** Schemathesis with all its checks and phases, on each store. */
export async function drillFuzz(options: FuzzOptions): Promise<DrillReport> {
  await using folder = await temporaryFolder();
  options.onProgress(`installing ${SCHEMATHESIS}`);
  await execute('python3', ['-m', 'venv', join(folder.path, 'venv')]);
  const bin = join(folder.path, 'venv', 'bin');
  await execute(join(bin, 'pip'), ['install', '--quiet', SCHEMATHESIS]);
  const run = (store: StoreChoice) => fuzzStore(store, { ...options, bin, folder: folder.path });
  const isShort = options.isShort === true;
  // Awaited here, because the folder is removed at the return.
  return await (isShort ? run({ name: 'SQLite', database: undefined }) : onBothStores(run));
}

type StoreOptions = FuzzOptions & { bin: string; folder: string };

async function fuzzStore(store: StoreChoice, options: StoreOptions): Promise<DrillReport> {
  const { rounds, isShort = false, onProgress } = options;
  const data = join(options.folder, 'data');
  const storeFlags =
    store.database === undefined ? ['--data', data] : ['--database', store.database];
  const keys: Record<KeyChoice, string> = {
    full: newSecret('production', randomBytes),
    'read-only': newSecret('production', randomBytes),
    none: '',
  };
  const report = new FuzzReport();
  const runs = isShort ? RUNS.slice(0, 1) : RUNS;
  for (const { name, key, flags } of runs) {
    onProgress(`${store.name}, ${name}`);
    const service = await ServiceProcess.start({
      data,
      database: store.database,
      key: keys.full,
      flags: ['--log', 'info', ...flags],
      nodeFlags: options.nodeFlags,
    });
    if (key === 'read-only') await addReadOnlyKey(storeFlags, keys[key]);
    const examples = name === 'full key' ? rounds : Math.ceil(rounds / SHARE_OF_OTHER_RUNS);
    const folder = join(options.folder, `${store.name} ${name}`);
    await runSchemathesis(options, {
      baseUrl: service.baseUrl,
      key: keys[key],
      examples: Math.max(examples, EXAMPLES_MIN),
      folder,
    });
    for (const file of await readdir(folder)) await report.read(join(folder, file));
    const errors = service.countLogLines('"level":"error"');
    if (errors > 0) report.violations.push(`${name}: the log has ${errors} errors`);
    report.violations.push(...(await service.stop()));
  }
  const kinds = [...report.kinds].map(([kind, count]) => `${kind}: ${count}`);
  return {
    passed: report.requests - report.violations.length,
    violations: report.violations,
    figures: {
      requests: report.requests,
      'animals created': report.creates,
      'refused, though no schema can say so': kinds.join(', '),
    },
  };
}

async function addReadOnlyKey(flags: readonly string[], secret: string): Promise<void> {
  const store = await openConfiguredStore(loadConfig(flagsOf(flags), {}));
  const now = new Date();
  const key = newApiKey({
    secret,
    name: 'reader',
    scopes: ['pets:read'],
    expiresAt: undefined,
    now,
    randomBytes,
  });
  await store.createApiKey(key);
  await store.close();
}

/** Schemathesis ends with 1 if a check has failed; its report says which. */
async function runSchemathesis(
  { bin, seed }: StoreOptions,
  target: { baseUrl: string; key: string; examples: number; folder: string },
): Promise<void> {
  const { baseUrl, key, examples, folder } = target;
  const words = [
    'run',
    `${new URL(baseUrl).origin}/openapi.json`,
    `--url=${baseUrl}`,
    '--checks=all',
    `--phases=${PHASES}`,
    `--max-examples=${examples}`,
    `--seed=${seed}`,
    '--report=ndjson',
    `--report-dir=${folder}`,
    ...(key === '' ? [] : [`--header=Authorization: Bearer ${key}`]),
    '--continue-on-failure',
    '--no-color',
  ];
  const env = {
    PATH: [bin, '/usr/bin', '/bin'].join(delimiter),
    PYTHONPATH: import.meta.dirname,
    SCHEMATHESIS_HOOKS: 'hooks',
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const options = { cwd: bin, env, timeout: RUN_MS_MAX, maxBuffer: 2 ** 28 };
  await execute(join(bin, 'schemathesis'), words, options).catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== 1) throw error;
  });
}
