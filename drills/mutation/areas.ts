/** The test files that run for a changed file. */
export interface Tests {
  /** One after the other: those that find the most in the least time. */
  first: readonly string[];
  /** Together, when all of the first have passed. */
  others: readonly string[];
}

/** The tests that a change in an area must fail. */
interface Area extends Tests {
  source: RegExp;
}

const CONTRACT = 'test/sqlite.test.ts';
const DOMAIN = ['api-key', 'crc32', 'int64', 'page', 'json', 'pet', 'idempotency'];
const HTTP = ['app', 'openapi', 'router'];
const unitTests = (folder: string, names: readonly string[]) =>
  names.map((name) => `src/${folder}/${name}.test.ts`);

export const AREAS: readonly Area[] = [
  {
    source: /^src\/domain\//,
    first: [...unitTests('domain', DOMAIN), ...unitTests('http', HTTP), CONTRACT],
    others: ['src/storage/sqlite/store.test.ts', 'src/cli/pets.test.ts', 'check/run.test.ts'],
  },
  {
    source: /^src\/http\//,
    first: [...unitTests('http', HTTP), CONTRACT],
    others: [
      'src/http/key-ring.test.ts',
      'src/http/response-cache.test.ts',
      'src/http/shared-rate-limit.test.ts',
      'test/malformed.test.ts',
      'test/health.test.ts',
      'test/metrics.test.ts',
      'test/deprecations.test.ts',
      'test/connection.test.ts',
      'test/forged-keys.test.ts',
      'test/rate-limit.test.ts',
      'test/tracing.test.ts',
      'src/http/server.test.ts',
      'test/shutdown.test.ts',
      'test/proxies.test.ts',
    ],
  },
  {
    source: /^src\/storage\/postgres\//,
    first: ['address', 'budgets', 'session', 'store'].map(
      (name) => `src/storage/postgres/${name}.test.ts`,
    ),
    others: [
      'src/storage/postgres/open.test.ts',
      'src/storage/postgres/running.test.ts',
      'src/storage/postgres/hosts.test.ts',
      'src/storage/postgres/pgbouncer.test.ts',
      'test/postgres.test.ts',
      'src/cli/copy.test.ts',
    ],
  },
  {
    source: /^src\/storage\//,
    first: ['batcher', 'schema', 'deadline', 'sqlite/store', 'sqlite/open'].map(
      (name) => `src/storage/${name}.test.ts`,
    ),
    others: [
      'src/storage/sqlite/replaced.test.ts',
      'src/storage/sqlite/backup.test.ts',
      'test/durability.test.ts',
      'test/hanging-disk.test.ts',
      'test/store-faults.test.ts',
      'test/backup.test.ts',
      'src/cli/copy.test.ts',
      'src/storage/postgres/store.test.ts',
    ],
  },
];

/** The tests for a source file. The test with its own name comes first. */
export function testsFor(file: string): Tests {
  const area = AREAS.find(({ source }) => source.test(file));
  if (area === undefined) throw new Error(`${file} belongs to no area`);
  const own = file.replace(/\.ts$/, '.test.ts');
  const isOwn = (test: string) => test === own;
  const isOther = (test: string) => test !== own;
  const all = [...area.first, ...area.others];
  return {
    first: [...all.filter(isOwn), ...area.first.filter(isOther)],
    others: area.others.filter(isOther),
  };
}
