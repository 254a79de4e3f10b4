// Runs test files, on all cores, and lists at the end what was skipped and why. The word is one of SUITES; without
// one, it is what `npm test` runs.

import '../harness/memory-folder.ts';
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const ROOT = join(import.meta.dirname, '..');
const TEST_MS_MAX = 240_000;
/** Tests that install tools take longer. */
const LONG_TEST_MS_MAX = 600_000;

const SUITES: Readonly<Record<string, readonly string[]>> = {
  // The slowest first, so that no core is idle at the end.
  normal: [
    'test/web/pages.ts',
    'drills/{catalogue,crash}/*.test.ts',
    'test/{faults,process,interface,project}/**/*.test.ts',
    ...['check', 'sdk', 'src/storage', 'src', 'bench', 'harness'].map(
      (folder) => `${folder}/**/*.test.ts`,
    ),
    'test/units.ts',
  ],
  fast: ['test/units.ts'],
  long: ['{drills,test/packaging,test/web/accessibility,test/web/samples}/**/*.test.ts'],
  generators: ['test/generators/{clients,languages}.ts'],
  traces: ['test/traces/traces.ts'],
};

/** The files of a suite in the order of its patterns. */
function filesOf(suite: string): string[] {
  const files = (SUITES[suite] ?? []).flatMap((pattern) =>
    globSync(pattern, { cwd: ROOT, exclude: ['**/node_modules/**'] }).toSorted(),
  );
  return [...new Set(files)].filter((file) => !file.endsWith('.unit.test.ts'));
}

function linesOf(...git: string[]): string[] {
  const { stdout } = spawnSync('git', git, { cwd: ROOT, encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line !== '');
}

function succeeds(tool: string, ...args: string[]): boolean {
  const options = { cwd: ROOT, stdio: 'inherit', shell: process.platform === 'win32' } as const;
  return spawnSync(tool, args, options).status === 0;
}

/** Whether format, rules and types of the files are right that differ from the last commit. */
function isChangeClean(): boolean {
  const changed = [
    ...linesOf('diff', '--name-only', '--diff-filter=d', 'HEAD'),
    ...linesOf('ls-files', '--others', '--exclude-standard'),
  ];
  const scripts = changed.filter((file) => /\.[cm]?[jt]s$/.test(file));
  return (
    (changed.length === 0 ||
      succeeds('prettier', '--check', '--ignore-unknown', '--log-level=warn', ...changed)) &&
    (scripts.length === 0 || (succeeds('oxlint', ...scripts) && succeeds('tsc', '--noEmit')))
  );
}

const [suite = 'normal'] = process.argv.slice(2);
if (suite === 'fast' && !isChangeClean()) process.exit(1);

const isLong = suite !== 'normal' && suite !== 'fast';
// Most tests wait more than they compute, so more files than cores keep the cores busy. Long ones compute.
const filesPerCore = isLong ? 1 : 2;
const skipped = new Map<string, string[]>();
const stream = run({
  files: filesOf(suite).map((file) => join(ROOT, file)),
  cwd: ROOT,
  concurrency: filesPerCore * availableParallelism(),
  timeout: isLong ? LONG_TEST_MS_MAX : TEST_MS_MAX,
  execArgv: ['--test-force-exit'],
});
stream.on('test:fail', ({ todo }) => {
  if (todo === undefined || todo === false) process.exitCode = 1;
});
stream.on('test:pass', ({ name, skip }) => {
  if (skip === undefined || skip === false) return;
  const reason = skip === true ? 'no reason was given' : skip;
  skipped.set(reason, [...(skipped.get(reason) ?? []), name]);
});
stream.on('end', () => {
  process.on('exit', () => {
    for (const [reason, names] of skipped) {
      process.stdout.write(`Skipped: ${reason}\n${names.map((name) => `  ${name}\n`).join('')}`);
    }
  });
});
stream.compose(spec).pipe(process.stdout);
