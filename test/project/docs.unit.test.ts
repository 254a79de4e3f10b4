// Checks the documents against the program, as far as a test can.

import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { blocksOf } from '../../harness/documented-commands.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { loadAll } from '../../src/cli/execute.ts';
import { SETTINGS } from '../../src/config.ts';
import { ERRORS } from '../../src/domain/errors.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const WEB_SITE = 'src/web/docs/content/web-site.md';
const documents = globSync(
  ['*.md', 'docs/**/*.md', 'sdk/*.md', 'check/*.md', 'src/web/*.md', WEB_SITE],
  { cwd: root },
);
const tests = globSync(['{src,test,sdk,check,drills,harness}/**/*.ts'], {
  cwd: root,
  exclude: ['**/node_modules/**'],
}).filter((file) => /test|contract/.test(file));

test('docs/errors.md lists exactly the error codes of the program, with status and meaning', () => {
  const rows = [...read('docs/errors.md').matchAll(/^\| `(\w+)` \| (\d+) \| ([^|]+) \|/gm)].map(
    ([, code = '', status = '', meaning = '']) => ({ code, status: Number(status), meaning }),
  );
  const known = Object.entries(ERRORS).map(([code, { status, meaning }]) => ({
    code,
    status,
    meaning,
  }));
  assert.deepEqual(rows, known);
});

test('docs/settings.md lists exactly the settings of the program', () => {
  const rows = [
    ...read('docs/settings.md').matchAll(/^\| `--([\w-]+)` \| `(\w+)` \| ([^|]+) \| ([^|]+) \|$/gm),
  ];
  assert.deepEqual(
    rows.map(([, flag, variable, byDefault, description]) => ({
      flag,
      variable,
      byDefault,
      description,
    })),
    Object.entries(SETTINGS).map(([flag, setting]) => ({
      flag,
      variable: setting.variable,
      byDefault: 'default' in setting ? setting.default : setting.defaultText,
      description: setting.description,
    })),
  );
});

/** The text of the files, with each title right behind its parenthesis. */
const titlesIn = (files: string[]) =>
  files
    .map(read)
    .join('\n')
    .replaceAll(/\\'/g, "'")
    .replaceAll(/\(\s+(?=['`])/g, '(');
/** The headings of recordings are titles too. */
const recorded = globSync('test/golden/**/*.txt', { cwd: root }).flatMap((file) =>
  [...read(file).matchAll(/^# (.*)$/gm)].map(([, heading]) => `('${heading}'`),
);
const titles = [titlesIn(tests), ...recorded].join('\n');
/** Expects titles in quotes, with a comma between two. */
function requireTests(named: string, row: string): void {
  for (const title of named.split('", "')) {
    const isTitle = ["'", '`'].some((quote) => titles.includes(`(${quote}${title}${quote}`));
    assert.ok(isTitle, `${row} names a test that does not exist: ${title}`);
  }
}

/** Those of the interface and of running it. */
const DECISIONS = Array.from({ length: 52 }, (_, index) => index + 1);

test('docs/decisions.md has each decision once, and the tests that they name exist', () => {
  const rows = [...read('docs/decisions.md').matchAll(/^\| D(\d+) \|.*\| "([^|]+)" \|$/gm)];
  assert.deepEqual(
    rows.map(([, number]) => Number(number)),
    DECISIONS,
  );
  for (const [, number, named = ''] of rows) requireTests(named, `D${number}`);
});

test('SECURITY.md has a row for each of the ten OWASP API risks, and the tests that they name exist', () => {
  const rows = [...read('SECURITY.md').matchAll(/^\| API(\d+) [^|]+ \| [^|]+ \| "([^|]+)" \|/gm)];
  assert.deepEqual(
    rows.map(([, number]) => Number(number)),
    Array.from({ length: 10 }, (_, index) => index + 1),
  );
  for (const [, number, named = ''] of rows) requireTests(named, `API${number}`);
});

test('the README shows the console and the reference, light and dark, in at most 300 KiB; npm run pictures takes them', () => {
  const shown = [...read('README.md').matchAll(/(?:src|srcset)="(docs\/images\/[^"]+)"/g)];
  const files = shown.map(([, file = '']) => file);
  assert.deepEqual(files.toSorted(), globSync('docs/images/*', { cwd: root }).toSorted());
  assert.equal(files.length, 4);
  const sizes = files.map((file) => readFileSync(join(root, file)).length);
  assert.ok(sizes.reduce((sum, bytes) => sum + bytes, 0) <= 300 * 1024, sizes.join(', '));
});

test('every link of a document to a file of the project has a target', () => {
  for (const document of documents) {
    for (const [, target = ''] of read(document).matchAll(
      /\]\((?!https?:|#|mailto:)([^)#]+)[^)]*\)/g,
    )) {
      assert.ok(existsSync(join(root, dirname(document), target)), `${document}: ${target}`);
      // The other pages there are for /docs: their links lead nowhere on the host of a repository.
      const isForDocs =
        target.includes('src/web/docs/content/') && !target.endsWith('/web-site.md');
      assert.ok(!isForDocs, `${document}: ${target}`);
    }
  }
});

test('every npm script and source file that a document names exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  for (const document of documents) {
    for (const [, script = ''] of read(document).matchAll(/npm run (?!-)([\w:-]+)/g)) {
      const own = document.startsWith('sdk/') ? read('sdk/package.json') : '';
      const isScript = Object.hasOwn(scripts, script) || own.includes(`"${script}"`);
      assert.ok(isScript, `${document}: ${script}`);
    }
    for (const [, file = ''] of read(document).matchAll(
      /`((?:src|test|docs|scripts|bench|drills|harness|contrib)\/[\w./-]+\.\w+)`/g,
    )) {
      assert.ok(existsSync(join(root, file)), `${document}: ${file}`);
    }
  }
});

const IN_BACKTICKS =
  /`([\w@][\w@./-]*\.(?:[cm]?[jt]s|html|css|json|lua|md|conf|cfg|service|timer|ya?ml))`/g;
/** Files of a reader, of a release and of other programs. */
const FILES_OF_OTHERS = [
  'animals.html',
  'journald.conf',
  'openapi-ts.config.js',
  'petstore-service-VERSION.cdx.json',
  'petstore.service',
  'prometheus.yml',
  'proxy.mjs',
];

test('every file name in backticks, in any document of the project, is that of a file', () => {
  const exclude = ['**/node_modules/**', 'artifacts/**', 'build/**', 'dist/**'];
  const files = globSync(['**/*.*', '.github/**/*.*'], { cwd: root, exclude });
  const named = files.filter((file) => file.endsWith('.md'));
  const missing = named.flatMap((document) =>
    [...read(document).matchAll(IN_BACKTICKS)]
      .map(([, name = '']) => name)
      .filter((name) => !files.some((file) => file === name || file.endsWith(`/${name}`)))
      .filter((name) => !FILES_OF_OTHERS.includes(name))
      .map((name) => `${document}: ${name}`),
  );
  assert.deepEqual(missing, []);
});

/** The anchors of a document, as GitHub makes them from its headings. */
function anchorsOf(document: string): string[] {
  const headings = read(document).matchAll(/^#{1,6} (.+)$/gm);
  return [...headings].map(([, text = '']) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test('docs/README.md names every page of docs/', () => {
  const pages = globSync('docs/**/*.md', { cwd: root }).map((page) => page.slice('docs/'.length));
  const rows = read('docs/README.md').matchAll(/^\| .+ \| \[([\w/-]+\.md)\]\(\1\) \|$/gm);
  const named = [...rows].map(([, page = '']) => page);
  assert.deepEqual([...named, 'README.md'].toSorted(), pages.toSorted());
});

/** Blocks of commands that no test runs, and why. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'access.md ## TLS and proxies': 'test/faults/nginx.long.test.ts runs nginx with the file',
  'clients.md ## Go': 'npm run test:generators',
  'clients.md ## Python': 'npm run test:generators',
  'commands.md # Commands': 'a file of variables, which the next page explains',
  'monitoring.md ## Traces': 'npm run test:traces does the same with the packages of its lock file',
  'postgresql.md # PostgreSQL and failover':
    'test/process/postgres-pages.long.test.ts reads its URLs',
  'postgresql.md ## A standby and failover': 'the same',
  'postgresql.md ## Move from SQLite': 'the same',
  'postgresql.md ## A role that only reads and writes rows':
    'test/process/postgres-start.long.test.ts',
  'running.md ## In a container': 'needs an engine for containers, and the network',
  'running.md ## On Kubernetes': 'needs a cluster',
};

test('every block of commands in docs/ is run by a test, or has a reason', () => {
  const named = tests.flatMap((file) =>
    [...read(file).matchAll(/'([\w-]+\.md)',\s*'(#+ [^']+)'/g)].map(
      ([, page, heading]) => `${page} ${heading}`,
    ),
  );
  const blocks = globSync('*.md', { cwd: join(root, 'docs') }).flatMap((page) =>
    blocksOf(page).map(({ heading }) => `${page} ${heading}`),
  );
  const run = new Set([...named, ...Object.keys(NOT_RUN)]);
  assert.deepEqual(
    blocks.filter((block) => !run.has(block)),
    [],
  );
  assert.deepEqual(
    Object.keys(NOT_RUN).filter((block) => !blocks.includes(block) || named.includes(block)),
    [],
  );
});

/** Generated, or tables that a reader looks something up in. */
const NOT_READ_THROUGH = ['commands.md', 'settings.md', 'decisions.md'];

test('docs/ has at most 16 pages, and 14,000 words without the commands, the settings and the decisions', () => {
  const pages = globSync('docs/**/*.md', { cwd: root });
  assert.ok(pages.length <= 16, `${pages.length} pages`);
  const counted = pages.filter((page) => !NOT_READ_THROUGH.includes(basename(page)));
  const words = counted.reduce((sum, page) => sum + (read(page).match(/\S+/g)?.length ?? 0), 0);
  assert.ok(words <= 14_000, `${words} words: leave something out`);
});

test('every link to a section of a document has a target, in alert rules too', () => {
  for (const file of [...documents, ...globSync('contrib/**/*.yml', { cwd: root })]) {
    for (const [, path = '', anchor = ''] of read(file).matchAll(
      /(?:\]\(|runbook: )(?!https?:)([^)#\s]*\.md)?#([^)\s]+)/g,
    )) {
      const folder = file.endsWith('.md') ? dirname(file) : '.';
      const target = path === '' ? file : join(folder, path);
      assert.ok(anchorsOf(target).includes(anchor), `${file}: ${path}#${anchor}`);
    }
  }
});

test('every command that a document names exists', async () => {
  const { commands } = await loadAll(COMMANDS);
  for (const document of documents) {
    for (const [text, first = '', second = ''] of read(document).matchAll(
      /(?<![\w/])petstore ([a-z]+)(?: ([a-z][a-z-]*))?(?=[ `\n])/g,
    )) {
      const found = commands[first];
      assert.ok(found !== undefined || first === 'help', `${document}: ${text}`);
      const isMember =
        found === undefined ||
        !('commands' in found) ||
        ['', ...Object.keys(found.commands)].includes(second);
      assert.ok(isMember, `${document}: ${text}`);
    }
  }
});
