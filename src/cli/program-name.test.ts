import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { programName, shellQuoted } from './program-name.ts';

const MAIN = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url));

/** A link to the command, as npm makes it. */
function newLink(t: TestContext, ...folders: string[]): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'petstore-name-')));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const folder = join(root, ...folders);
  mkdirSync(folder, { recursive: true });
  symlinkSync(MAIN, join(folder, 'petstore'));
  return join(folder, 'petstore');
}

/** The words by which a text of the program names it. */
function nameOf(script: string, env: Record<string, string> = {}): string | undefined {
  const { stderr } = spawnSync(process.execPath, [script, 'fly'], { env, encoding: 'utf8' });
  return /^petstore: [^\n]*; see ([^\n]*) --help\.\n$/.exec(stderr)?.[1];
}

test('a text names the command as it was started', (t) => {
  assert.equal(nameOf(MAIN), `node ${MAIN}`, 'by the file of the project');
  const link = newLink(t, 'my bin');
  assert.equal(nameOf(link), `'${link}'`, 'by a path');
  const PATH = ['/nowhere', dirname(link)].join(delimiter);
  assert.equal(nameOf(link, { PATH }), 'petstore', 'by its name');
  const npmScript = { npm_lifecycle_event: 'start', npm_command: 'start' };
  assert.equal(nameOf(MAIN, npmScript), 'npx petstore', 'by npm start');
  assert.equal(nameOf(link, { ...npmScript, PATH }), 'petstore', 'by a script of another package');
});

test('npx is suggested only with what makes it find this program', (t) => {
  const env = { npm_lifecycle_event: 'npx', npm_command: 'exec' };
  const inProject = newLink(t, 'node_modules', '.bin');
  assert.equal(nameOf(inProject, env), 'npx petstore');
  const inCache = newLink(t, '_npx', '0a1b', 'node_modules', '.bin');
  const file = join(dirname(inCache), 'release file.tgz');
  writeFileSync(file, '');
  assert.equal(
    nameOf(inCache, { ...env, npm_config_package: file }),
    `npx --package='${file}' petstore`,
  );
});

/** The words for a script, without a process. */
function nameHere(t: TestContext, script: string, env: Record<string, string> = {}): string {
  const [, original = ''] = process.argv;
  t.after(() => (process.argv[1] = original));
  process.argv[1] = script;
  return programName(env);
}

test('a program that is not named petstore, such as a test, is still named so', (t) => {
  assert.equal(nameHere(t, '/a/petstore.cjs'), 'node /a/petstore.cjs');
  assert.equal(nameHere(t, '/a/my-petstore.js'), 'petstore');
  assert.equal(nameHere(t, '/a/petstore.js.txt'), 'petstore');
});

test('npx is suggested with the address of a package as it was given', (t) => {
  const env = { npm_lifecycle_event: 'npx', npm_config_package: 'https://pets.example/a.tgz' };
  const script = '/a/node_modules/.bin/petstore';
  assert.equal(nameHere(t, script, env), 'npx --package=https://pets.example/a.tgz petstore');
});

test('a word is quoted for a shell unless all its characters are harmless', () => {
  assert.equal(shellQuoted('/a.b:c@d%e+f=g-h_1'), '/a.b:c@d%e+f=g-h_1');
  for (const word of ['', ' a', 'a ', 'a;b', '$a', 'a*'])
    assert.equal(shellQuoted(word), `'${word}'`);
  assert.equal(shellQuoted("it's"), String.raw`'it'\''s'`);
});
