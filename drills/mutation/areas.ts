/** The tests that a change in an area must fail, in the order in which they run: fast ones first. */
interface Area {
  source: RegExp;
  tests: readonly string[];
}

const CONTRACT = 'test/sqlite.test.ts';
const DOMAIN = ['api-key', 'crc32', 'int64', 'page', 'json', 'pet', 'idempotency'];
const HTTP = ['router', 'openapi', 'app', 'response-cache', 'key-ring'];
const unitTests = (folder: string, names: readonly string[]) =>
  names.map((name) => `src/${folder}/${name}.test.ts`);

export const AREAS: readonly Area[] = [
  {
    source: /^src\/domain\//,
    tests: [
      ...unitTests('domain', DOMAIN),
      ...unitTests('http', HTTP),
      CONTRACT,
      'src/storage/sqlite/store.test.ts',
      'src/cli/pets.test.ts',
      'check/run.test.ts',
    ],
  },
  {
    source: /^src\/http\//,
    tests: [
      ...unitTests('http', HTTP),
      CONTRACT,
      'test/health.test.ts',
      'test/malformed.test.ts',
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
    tests: [
      'src/storage/postgres/address.test.ts',
      'src/storage/postgres/session.test.ts',
      'src/storage/postgres/store.test.ts',
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
    tests: [
      'src/storage/batcher.test.ts',
      'src/storage/schema.test.ts',
      'src/storage/deadline.test.ts',
      'src/storage/sqlite/store.test.ts',
      'src/storage/sqlite/open.test.ts',
      'src/storage/sqlite/replaced.test.ts',
      'src/storage/sqlite/backup.test.ts',
      'test/durability.test.ts',
      'test/hanging-disk.test.ts',
      'test/backup.test.ts',
      'src/cli/copy.test.ts',
      'src/storage/postgres/store.test.ts',
    ],
  },
];

/** The tests for a source file. The test with its own name comes first. */
export function testsFor(file: string): readonly string[] {
  const { tests = [] } = AREAS.find(({ source }) => source.test(file)) ?? {};
  const own = file.replace(/\.ts$/, '.test.ts');
  return tests.toSorted((a, b) => Number(b === own) - Number(a === own));
}
