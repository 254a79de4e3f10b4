/** The tests that a change in an area must fail. */
interface Area {
  source: RegExp;
  tests: readonly string[];
}

const CONTRACT = 'test/interface/sqlite.test.ts';
const testsIn = (folder: string, ...names: string[]) =>
  names.map((name) => `${folder}/${name}.test.ts`);
const HTTP = testsIn(
  'src/http',
  'app',
  'body',
  'key-ring',
  'key-uses',
  'openapi',
  'response-cache',
  'router',
);

const AREAS: readonly Area[] = [
  {
    source: /^src\/domain\//,
    tests: [
      ...testsIn('src/domain', 'api-key', 'crc32', 'idempotency', 'int64', 'json', 'page', 'pet'),
      ...HTTP,
      CONTRACT,
      'src/storage/sqlite/store.test.ts',
      'src/cli/pets.test.ts',
      'check/run.test.ts',
    ],
  },
  {
    source: /^src\/http\//,
    tests: [
      ...HTTP,
      ...testsIn('src/http', 'rate-limit', 'server'),
      CONTRACT,
      ...testsIn('test', 'connection', 'forged-keys', 'health', 'malformed'),
      ...testsIn('test', 'metrics', 'proxies', 'rate-limit', 'settings', 'shutdown'),
    ],
  },
  {
    source: /^src\/storage\/postgres\//,
    tests: [
      ...testsIn('src/storage/postgres', 'address', 'hosts', 'open', 'pgbouncer'),
      ...testsIn(
        'src/storage/postgres',
        'pool',
        'portions',
        'running',
        'session',
        'store',
        'verify',
      ),
      'test/interface/postgres.test.ts',
      'src/cli/copy.test.ts',
    ],
  },
  {
    source: /^src\/storage\//,
    tests: [
      ...testsIn('src/storage', 'batcher', 'deadline', 'schema'),
      ...testsIn('src/storage/sqlite', 'backup', 'open', 'replaced', 'store'),
      ...testsIn('test', 'backup', 'durability', 'hanging-disk', 'store-faults'),
      'src/cli/copy.test.ts',
      'src/storage/postgres/store.test.ts',
    ],
  },
];

/** The tests for a source file. */
export function testsFor(file: string): readonly string[] {
  const area = AREAS.find(({ source }) => source.test(file));
  if (area === undefined) throw new Error(`${file} belongs to no area`);
  return area.tests;
}
