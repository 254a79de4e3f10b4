import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const UNITS = ['src/**/*.test.ts', 'sdk/src/**/*.test.ts', 'check/**/*.test.ts'];

/** A unit test with none of these starts neither a server nor a database nor a process. */
const SERVERS =
  /\/(?:support\/(?:postgres-server|test-service|test-process|pgbouncer|stage)|[\w-]+\.test-server)\.ts'|'node:child_process'|\b(?:createServer|openServer|openSqliteStore)\b/;

/** A hook of a file would run for the tests of every file of its process. */
const HOOK = /^(?:before|after)(?:Each)?\(/m;

/** The unit tests that start no server, by whether their files can share one process. */
export function unitFiles(): { shared: string[]; alone: string[] } {
  const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
  const files = globSync(UNITS, { cwd: ROOT, exclude: ['**/node_modules/**'] })
    .toSorted()
    .filter((file) => !SERVERS.test(read(file)));
  const { shared = [], alone = [] } = Object.groupBy(files, (file) =>
    HOOK.test(read(file)) ? 'alone' : 'shared',
  );
  return { shared, alone };
}
