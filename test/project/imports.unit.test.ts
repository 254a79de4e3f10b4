// The linter refuses what oxlint.config.ts forbids. One import that breaks each rule, and one that does not.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import config from '../../oxlint.config.ts';

const OXLINT = join(dirname(createRequire(import.meta.url).resolve('oxlint')), 'cli.js');

const IMPORTS: [file: string, allowed: string, ...refused: string[]][] = [
  ['src/domain/a.ts', 'node:crypto', 'node:fs', '../storage/rows.ts', 'pg'],
  [
    'src/storage/a.ts',
    '../domain/pet.ts',
    './tools/copy.ts',
    '../http/app.ts',
    '../config.ts',
    'pg',
  ],
  ['src/storage/tools/a.ts', '../sqlite/store.ts', '../../http/app.ts', '../../config.ts', 'pg'],
  [
    'src/storage/sqlite/a.ts',
    '../rows.ts',
    '../postgres/store.ts',
    '../tools/copy.ts',
    '../../config.ts',
  ],
  ['src/storage/postgres/a.ts', 'pg', '../sqlite/store.ts', '../../http/app.ts', '../../config.ts'],
  [
    'src/http/a.ts',
    './wire/server.ts',
    '../storage/rows.ts',
    '../config.ts',
    'node:cluster',
    'node:http',
    'node:net',
  ],
  ['src/http/wire/a.ts', 'node:http', '../app.ts', '../../config.ts', 'node:cluster'],
  [
    'src/http/console/a.ts',
    '../../pet-file/csv.ts',
    '../../storage/rows.ts',
    '../../config.ts',
    'node:net',
  ],
  ['src/ops/a.ts', 'pino', '../http/app.ts', '../config.ts'],
  ['src/pet-file/a.ts', '../domain/pet.ts', 'node:fs', '../http/app.ts'],
  ['src/web/a.ts', 'marked', '../storage/rows.ts', '../config.ts'],
  ['src/web/docs/a.ts', '../../http/app.ts', '../../storage/rows.ts', '../../config.ts'],
  [
    'src/web/console/page/a.ts',
    '../../../../sdk/src/client.ts',
    'node:fs',
    '../../../domain/pet.ts',
    '../pages.ts',
  ],
  [
    'src/web/docs/page/a.ts',
    '../../console/page/key.ts',
    '../markdown.ts',
    '../../../domain/pet.ts',
  ],
  ['src/web/monitor/page/a.ts', './b.ts', '../monitor.ts', '../../console/page/key.ts'],
  ['src/config.ts', './setting.ts', './service.ts', 'pino'],
  ['src/main.ts', './cli/run.ts', './service.ts'],
  ['sdk/src/a.ts', './client.ts', '../../src/service.ts', '../../src/domain/pet.ts', 'node:fs'],
  ['check/a.ts', '../sdk/src/client.ts', '../src/service.ts', '../harness/client.ts'],
  ['check/clauses/a.ts', '../verdict.ts', '../../src/service.ts'],
  ['src/http/a.test.ts', '../config.ts', '../../test/web/stage.ts'],
  [
    'harness/a.ts',
    '../src/service.ts',
    '../test/web/stage.ts',
    '../drills/drill.ts',
    '../bench/go.ts',
  ],
  ['test/web/a.test.ts', '../golden/recording.ts', '../../drills/drill.ts', '../../bench/go.ts'],
  ['drills/faults/a.ts', '../drill.ts', '../../test/web/stage.ts'],
];

test('the linter refuses each import that the rules of a folder do not allow, circles, and process.env', async (t) => {
  const folder = temporaryFolder(t);
  const expected = new Set([
    'src/setting.ts: process.env',
    'sdk/src/b.ts: ../../src/http/app.ts',
    'src/cli/one.ts: circle',
    'src/cli/two.ts: circle',
  ]);
  const write = (file: string, lines: readonly string[]) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), `${lines.join('\n')}\n`);
  };
  for (const [file, allowed, ...refused] of IMPORTS) {
    write(
      file,
      [allowed, ...refused].map((from, index) => `export { a as a${index} } from '${from}';`),
    );
    for (const from of refused) expected.add(`${file}: ${from}`);
  }
  write('sdk/src/types.ts', ["export type { Pet } from '../../src/domain/pet.ts';"]);
  write('sdk/src/b.ts', ["export type { App } from '../../src/http/app.ts';"]);
  write('src/setting.ts', ["export const port = process.env['PORT'];"]);
  write('src/cli/one.ts', ["import type { Two } from './two.ts';", 'export type One = Two[];']);
  write('src/cli/two.ts', ["import type { One } from './one.ts';", 'export type Two = One[];']);
  const { plugins, rules, overrides } = config;
  write('.oxlintrc.json', [JSON.stringify({ plugins, rules, overrides })]);
  const { stdout } = await promisify(execFile)(process.execPath, [OXLINT, '--format=json'], {
    cwd: folder,
  }).catch((error: unknown) => error as { stdout: string });
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: Diagnostic[] };
  const found = diagnostics.map(({ code, filename, message }) => {
    const file = relative(folder, join(folder, filename));
    if (code.includes('no-cycle')) return `${file}: circle`;
    return `${file}: ${code.includes('process-env') ? 'process.env' : /'([^']+)'/.exec(message)?.[1]}`;
  });
  assert.deepEqual([...new Set(found)].toSorted(), [...expected].toSorted());
});

interface Diagnostic {
  code: string;
  filename: string;
  message: string;
}
