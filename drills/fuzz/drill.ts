import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { needs } from '../../harness/needs.ts';
import { newSecret } from '../../src/domain/api-key.ts';
import { run } from '../../harness/command.ts';
import { brokenByBug } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { onBothStores, type StoreChoice } from '../stores.ts';
import { disposableFolder } from '../../harness/temporary-folder.ts';
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

export const drill: Drill = {
  promise:
    'What the OpenAPI document allows, the service accepts, and each response has a status, headers and a body that it declares.',
  method:
    'Schemathesis 4.32.5 with all checks and phases, with the full key, a read-only key, no key, a rate limit and two workers, on each store. Only refusals that no schema can express may fail a check; each animal is compared with what was sent. What was created is found: the drills `linearizability` and `simulation`.',
  unit: 'examples per operation',
  rounds: 2_000,
  quickRounds: 20,
  // It installs Schemathesis from PyPI.
  isNamedOnly: true,
  findMissing,
  run: drillFuzz,
  control: {
    brokenBy: 'responses with 202 instead of 201',
    finds: ['status code 202'],
    run: (options) =>
      drillFuzz({
        ...options,
        isShort: true,
        nodeFlags: brokenByBug('a create is acknowledged with 202'),
      }),
  },
};

interface FuzzOptions extends DrillOptions {
  /** Only the first run, on SQLite. */
  isShort?: boolean;
  /** These break the service on purpose. */
  nodeFlags?: readonly string[];
}

function findMissing(): string | false {
  const { status } = spawnSync('python3', ['-c', 'import venv, ensurepip']);
  return needs('Python with venv', status === 0);
}

/** Schemathesis with all its checks and phases, on each store. */
async function drillFuzz(options: FuzzOptions): Promise<DrillReport> {
  await using folder = await disposableFolder();
  options.onProgress(`installing ${SCHEMATHESIS}`);
  await execute('python3', ['-m', 'venv', join(folder.path, 'venv')]);
  const bin = join(folder.path, 'venv', 'bin');
  await execute(join(bin, 'pip'), ['install', '--quiet', SCHEMATHESIS]);
  const fuzz = (store: StoreChoice) => fuzzStore(store, { ...options, bin, folder: folder.path });
  const isShort = options.isShort === true;
  // Awaited here, because the folder is removed at the return.
  return await (isShort ? fuzz({ name: 'SQLite', database: undefined }) : onBothStores(fuzz));
}

type StoreOptions = FuzzOptions & { bin: string; folder: string };

async function fuzzStore(store: StoreChoice, options: StoreOptions): Promise<DrillReport> {
  const { rounds, isShort = false, onProgress } = options;
  const data = join(options.folder, 'data');
  const storeFlags =
    store.database === undefined ? ['--data', data] : ['--database', store.database];
  const full = newSecret('production', randomBytes);
  const report = new FuzzReport();
  const runs = isShort ? RUNS.slice(0, 1) : RUNS;
  for (const { name, key, flags } of runs) {
    onProgress(`${store.name}, ${name}`);
    const service = await ServiceProcess.start({
      data,
      database: store.database,
      key: full,
      flags: ['--log', 'info', ...flags],
      nodeFlags: options.nodeFlags,
    });
    const examples = name === 'full key' ? rounds : Math.ceil(rounds / SHARE_OF_OTHER_RUNS);
    const folder = join(options.folder, `${store.name} ${name}`);
    await runSchemathesis(options, {
      baseUrl: service.baseUrl,
      key: key === 'read-only' ? await newReadOnlyKey(storeFlags) : key === 'full' ? full : '',
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

async function newReadOnlyKey(flags: readonly string[]): Promise<string> {
  const words = ['keys', 'create', '--name', 'reader', '--scopes', 'pets:read', '--json'];
  const { stdout } = await run([...words, ...flags]);
  return (JSON.parse(stdout) as { key: string }).key;
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
