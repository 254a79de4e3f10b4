// The rules of the linter, and which files may import which. A refused import says what to do instead.

import { defineConfig } from 'oxlint';

type Rule = ['error', ...object[]];
interface Override {
  files: string[];
  rules: Record<string, 'off' | 'error' | Rule>;
}

const IMPORTS = 'eslint/no-restricted-imports';

/** These files may import nothing but what is allowed, as it stands there. A folder's rule replaces that of the one around it. */
function only(files: string, allowed: readonly string[], remedy: string): Override {
  const group = [
    '**',
    ...allowed.map((each) => (each.startsWith('!') ? each.slice(1) : `!${each}`)),
  ];
  return {
    files: [files],
    rules: { [IMPORTS]: ['error', { patterns: [{ group, message: remedy }] }] },
  };
}

const NODE = ['node:*', 'node:*/**'];
const NO_SERVER = ['!node:cluster', '!node:http', '!node:net'];

/** For all files that no other rule has. */
const SHARED: Rule = [
  'error',
  {
    patterns: [
      {
        group: ['**/test/**', '**/drills/**', '**/bench/**'],
        message:
          'Move what both need to harness/: tests, drills and benchmarks share only that, and it imports none of them.',
      },
    ],
  },
];

const ONLY_TYPES =
  'Copy what it needs into sdk/: the client library may import only types, of src/domain/.';

const MAY_IMPORT: readonly Override[] = [
  only(
    'src/domain/**',
    ['./*', 'typebox', 'typebox/*', 'node:crypto'],
    'Move the code that needs this import out of src/domain/, which may import only the schema library and node:crypto.',
  ),
  only(
    'src/storage/**',
    ['./**', '!./tools/**', '../domain/*', '../ops/{metrics,installation}.ts', ...NODE],
    'Pass the value in as a parameter: src/storage/ may import only the domain and Node.js.',
  ),
  only(
    'src/storage/sqlite/**',
    ['./*', '../*.ts', '../../domain/*', '../../ops/{metrics,installation}.ts', ...NODE],
    'Move code that both stores need to src/storage/: the SQLite store may import only the domain and Node.js.',
  ),
  only(
    'src/storage/postgres/**',
    [
      './*',
      '../*.ts',
      '../../domain/*',
      '../../ops/metrics.ts',
      'pg',
      'pg-connection-string',
      'pgpass',
      ...NODE,
    ],
    'Move code that both stores need to src/storage/: the PostgreSQL store may import only the domain, pg and Node.js.',
  ),
  only(
    'src/storage/tools/**',
    ['./*', '../*.ts', '../{sqlite,postgres}/*', '../../domain/*', ...NODE],
    'Pass the value in as a parameter: src/storage/tools/ may import only the stores, the domain and Node.js.',
  ),
  only(
    'src/http/**',
    ['./**', '../domain/*', '../ops/*', 'typebox', ...NODE, ...NO_SERVER],
    'Pass the store or the setting in from src/service.ts: src/http/ may import only the domain, ops and Node.js; node:http and node:net only in src/http/wire/, and node:cluster nowhere.',
  ),
  only(
    'src/http/wire/**',
    [
      './*',
      '../message.ts',
      '../error-response.ts',
      '../../domain/*',
      '../../ops/*',
      ...NODE,
      '!node:cluster',
    ],
    'Move the code to src/http/: src/http/wire/ knows requests and responses, and nothing of what they are about.',
  ),
  only(
    'src/http/console/**',
    ['./*', '../*.ts', '../../domain/*', '../../pet-file/*', ...NODE, ...NO_SERVER],
    'Pass it in as a parameter: src/http/console/ may import only the domain, http, pet-file and Node.js.',
  ),
  only(
    'src/ops/**',
    ['./*', '../domain/*', '../../package.json', 'pino', ...NODE],
    'Pass the value in as a parameter: src/ops/ may import only the domain, pino and Node.js.',
  ),
  only(
    'src/pet-file/**',
    ['./*', '../domain/*'],
    'Pass the function in as a parameter: src/pet-file/ may import only the domain.',
  ),
  only(
    'src/web/*.ts',
    ['./**', '../{http,ops,domain}/**', 'marked', ...NODE],
    'Pass the value in as a parameter: src/web/ may import only http, ops, the domain, marked and Node.js.',
  ),
  only(
    'src/web/*/*.ts',
    ['./**', '../**', '!../../**', '../../{http,ops,domain}/**', 'marked', ...NODE],
    'Pass the value in as a parameter: src/web/ may import only http, ops, the domain, marked and Node.js.',
  ),
  only(
    'src/web/console/page/**',
    [
      './**',
      '../../../../sdk/src/*',
      '../../../domain/{int64,key-form,printable,typed-pet}.ts',
      '../../../pet-file/csv.ts',
    ],
    'Use the client library: the code for the browser may import only sdk/src/, its own folder and modules without imports.',
  ),
  only(
    'src/web/docs/page/**',
    ['./*', '../../console/page/*', '../../../domain/key-form.ts'],
    'Move the code into src/web/docs/page/ or src/web/console/page/: the scripts of the documents may import only these.',
  ),
  only(
    'src/web/monitor/page/**',
    ['./*'],
    'Move the code into src/web/monitor/page/: the script of the monitor may import only this folder.',
  ),
  only(
    'src/config.ts',
    ['./domain/*', './ops/*', './setting.ts', ...NODE],
    'Move the code to its own module: src/config.ts is loaded first and may import only the domain, ops and Node.js.',
  ),
  only(
    'src/main.ts',
    ['./cli/*'],
    'Move the code to src/cli/: src/main.ts only selects the command.',
  ),
  {
    files: ['sdk/src/**'],
    rules: {
      [IMPORTS]: [
        'error',
        {
          patterns: [
            { group: ['**', '!./*'], allowTypeImports: true, message: ONLY_TYPES },
            {
              group: [
                '/[a-z@]*',
                '../../src/*.ts',
                '../../src/{cli,http,ops,pet-file,storage,web}/**',
              ],
              message: ONLY_TYPES,
            },
          ],
        },
      ],
    },
  },
  { files: ['src/**'], rules: { 'node/no-process-env': 'error' } },
  { files: ['src/config.ts'], rules: { 'node/no-process-env': 'off' } },
  {
    files: ['src/**/*.test.ts', 'src/**/*.contract.ts'],
    rules: { [IMPORTS]: SHARED, 'node/no-process-env': 'off' },
  },
  { files: ['sdk/**/*.test.ts'], rules: { [IMPORTS]: 'off' } },
  only(
    'check/**',
    ['./**', '../sdk/**', ...NODE],
    'State the rule in check/ itself: the check judges any service, so it may import only the client library and Node.js.',
  ),
  only(
    'check/clauses/**',
    ['./*', '../*.ts', '../../sdk/**', ...NODE],
    'State the rule in check/ itself: the check judges any service, so it may import only the client library and Node.js.',
  ),
];

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'import', 'promise', 'node'],
  options: { typeAware: true, denyWarnings: true },
  categories: { correctness: 'error', suspicious: 'error' },
  rules: {
    'typescript/no-unsafe-type-assertion': 'off',
    'import/no-named-as-default-member': 'off',
    'unicorn/require-post-message-target-origin': 'off',
    'typescript/no-explicit-any': 'error',
    'typescript/no-non-null-assertion': 'error',
    'typescript/no-floating-promises': [
      'error',
      {
        allowForKnownSafeCalls: [
          { from: 'package', package: 'node:test', name: ['test', 'describe', 'it', 'suite'] },
        ],
      },
    ],
    'typescript/no-misused-promises': 'error',
    'typescript/switch-exhaustiveness-check': [
      'error',
      { considerDefaultExhaustiveForUnions: true },
    ],
    'typescript/consistent-type-imports': 'error',
    'import/no-default-export': 'error',
    'import/no-unassigned-import': ['error', { allow: ['**/harness/memory-folder.ts'] }],
    'eslint/eqeqeq': 'error',
    'eslint/max-lines-per-function': [
      'error',
      { max: 50, skipBlankLines: true, skipComments: true },
    ],
    'eslint/no-var': 'error',
    'eslint/prefer-const': 'error',
    'import/no-cycle': ['error', { ignoreTypes: false }],
    [IMPORTS]: SHARED,
  },
  overrides: [
    ...MAY_IMPORT,
    {
      files: ['**/*.test.ts', '**/*.contract.ts', '**/*.test-server.ts', 'test/**'],
      rules: { 'eslint/max-lines-per-function': 'off' },
    },
    { files: ['bin/petstore.cjs'], rules: { 'eslint/no-var': 'off', 'eslint/no-eval': 'off' } },
    { files: ['oxlint.config.ts'], rules: { 'import/no-default-export': 'off' } },
  ],
  ignorePatterns: ['node_modules', 'build', 'dist', 'data', 'artifacts'],
});
