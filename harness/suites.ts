// Which test files run when. Its test checks that none is left out.

import { globSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const EXCLUDED = ['**/node_modules/**', 'artifacts/**', 'dist/**'];

export const SUITES: Readonly<Record<string, readonly string[]>> = {
  // The slowest first, so that no core is idle at the end.
  normal: [
    'test/web/*.test.ts',
    'test/golden/*.test.ts',
    'src/storage/**/*.test.ts',
    'test/units.ts',
    'drills/bugs/*.test.ts',
    'test/{process,interface,project}/**/*.test.ts',
    ...['check', 'sdk/src', 'src', 'bench', 'harness'].map((folder) => `${folder}/**/*.test.ts`),
  ],
  fast: ['test/units.ts'],
  long: [
    'drills/{*.test.ts,!(bugs)/*.test.ts}',
    'sdk/test/*.test.ts',
    'test/{faults,long,packaging,web/accessibility,web/long,web/samples}/**/*.test.ts',
    '**/*.long.test.ts',
  ],
  generators: ['test/generators/{clients,languages,schemathesis}.ts'],
  traces: ['test/traces/traces.ts'],
};

/** The unit tests that start no server. test/units.ts runs them in one process. */
const UNIT_TESTS = '**/*.unit.test.ts';

/** The files of a suite in the order of its patterns. Long tests that stand beside others are in no other suite. */
export function filesOf(suite: string): string[] {
  const files = (SUITES[suite] ?? []).flatMap(filesThatMatch);
  const isElsewhere = (file: string) =>
    file.endsWith('.unit.test.ts') || (suite !== 'long' && file.endsWith('.long.test.ts'));
  return [...new Set(files)].filter((file) => !isElsewhere(file));
}

export function unitTestFiles(): string[] {
  return filesThatMatch(UNIT_TESTS);
}

export function allTestFiles(): string[] {
  return filesThatMatch('**/*.test.ts');
}

function filesThatMatch(pattern: string): string[] {
  const found = globSync(pattern, { cwd: ROOT, exclude: EXCLUDED });
  return found.map((file) => file.replaceAll('\\', '/')).toSorted();
}
