// Runs test files, on all cores. The word names a suite of suites.ts; without one, it is what `npm test` runs.
// `--verbose` shows every test.

import '../harness/memory-folder.ts';
import { installChromium } from '../harness/chromium.ts';
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { parseArgs } from 'node:util';
import { report } from './report.ts';
import { filesOf } from '../harness/suites.ts';

const ROOT = join(import.meta.dirname, '..');
const TEST_MS_MAX = 240_000;
/** Tests that install tools take longer. */
const LONG_TEST_MS_MAX = 600_000;

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

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { verbose: { type: 'boolean', default: false } },
});
const [suite = 'normal'] = positionals;
if (suite === 'fast' && !isChangeClean()) process.exit(1);

if (suite === 'normal' || suite === 'long') {
  const reason = await installChromium();
  if (reason !== undefined) process.stderr.write(`No browser was installed: ${reason}\n`);
}

const isLong = suite !== 'normal' && suite !== 'fast';
// Most tests wait more than they compute, so more files than cores keep the cores busy. In long ones requests must not fail
// during restarts and faults of other programs, whose patience is short where the cores are busy.
const cores = availableParallelism();
const filesAtOnce = isLong ? cores + 1 : 2 * cores;
const files = filesOf(suite).map((file) => join(ROOT, file));
const stream = run({
  files,
  cwd: ROOT,
  concurrency: filesAtOnce,
  timeout: isLong ? LONG_TEST_MS_MAX : TEST_MS_MAX,
  execArgv: ['--test-force-exit'],
});
if (!(await report(stream, process.stdout, values.verbose))) process.exitCode = 1;
