import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const REPOSITORY = dirname(dirname(import.meta.dirname));
const INSTALLED = '/usr/lib/postgresql/15';
/** The first one has the contract of every store, so that few rounds show the most. */
const TEST_FILES = [
  'src/storage/postgres/store.test.ts',
  'test/drills/postgres-drills.test.ts',
  'test/interface/postgres.test.ts',
  'src/storage/postgres/open.test.ts',
  'src/storage/postgres/session.test.ts',
  'src/storage/postgres/pool.test.ts',
  'src/storage/postgres/running.test.ts',
  'src/storage/postgres/verify.test.ts',
  'src/storage/postgres/hosts.test.ts',
  'src/storage/postgres/pgbouncer.test.ts',
  'src/cli/copy.test.ts',
];

export const drill: Drill = {
  purpose:
    'PostgreSQL 15 instead of 18: the contract of the store, the whole interface, and crashes, frozen servers and a failover under load.',
  unit: 'test files',
  rounds: TEST_FILES.length,
  quickRounds: 1,
  isNamedOnly: true,
  findMissing: () =>
    existsSync(join(INSTALLED, 'bin/initdb')) ? undefined : 'PostgreSQL 15 is not installed',
  run: (options) => runTests(INSTALLED, options),
  control: { brokenBy: 'a PostgreSQL that is read-only', run: runControl },
};

async function runTests(
  folder: string,
  { rounds, onProgress }: DrillOptions,
): Promise<DrillReport> {
  const report = { passed: 0, violations: [] as string[], figures: {} as Record<string, string> };
  const version = spawnSync(join(INSTALLED, 'bin/postgres'), ['--version'], { encoding: 'utf8' });
  report.figures['version'] = version.stdout.trim();
  for (const file of TEST_FILES.slice(0, rounds)) {
    onProgress(file);
    const output = await runTestFile(file, folder);
    const passed = Number(/^# pass (\d+)$/m.exec(output)?.[1] ?? 0);
    const failed = [...output.matchAll(/^ *not ok \d+ - (.*)$/gm)].map(([, title]) =>
      String(title),
    );
    if (passed === 0 && failed.length === 0) failed.push('no test ran');
    report.passed += passed;
    report.figures[file] = `${passed} passed, ${failed.length} failed`;
    report.violations.push(...failed.map((title) => `${file}: ${title}`));
  }
  return report;
}

async function runTestFile(file: string, folder: string): Promise<string> {
  const first = ['--import', './test/support/memory-folder.ts', '--test', '--test-reporter=tap'];
  const child = spawn(process.execPath, [...first, file], {
    cwd: REPOSITORY,
    env: { PATH: process.env['PATH'] ?? '', PETSTORE_TEST_POSTGRES: folder },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(child, 'close');
  return output;
}

/** Uses the same programs, but the server refuses to write. */
async function runControl(options: DrillOptions): Promise<DrillReport> {
  await using folder = await temporaryFolder();
  await chmod(folder.path, 0o755);
  await mkdir(join(folder.path, 'bin'));
  const scripts = {
    initdb: `exec ${INSTALLED}/bin/initdb "$@"`,
    postgres: `exec ${INSTALLED}/bin/postgres "$@" -c default_transaction_read_only=on`,
  };
  for (const [name, line] of Object.entries(scripts)) {
    await writeFile(join(folder.path, 'bin', name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  }
  return await runTests(folder.path, options);
}
