import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..', '..');
const FOLDER = join(ROOT, '.github/workflows');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

test('the workflows run only scripts and files that exist', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  for (const file of readdirSync(FOLDER)) {
    const text = read(join('.github/workflows', file));
    const named = [...text.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name]) => name);
    for (const name of named) assert.ok(Object.hasOwn(scripts, name ?? ''), `${file}: ${name}`);
    for (const [, path = ''] of text.matchAll(/(?:bash|-f|run: node) ([.\w/-]+)/g)) {
      assert.ok(existsSync(join(ROOT, path)), `${file}: ${path}`);
    }
  }
});

test('every action of the workflows is pinned by its commit, with the version as a comment', () => {
  for (const file of readdirSync(FOLDER)) {
    const uses = read(join('.github/workflows', file)).match(/\buses:.*$/gm) ?? [];
    assert.ok(uses.length > 0, file);
    for (const line of uses) {
      assert.match(line, /^uses: [\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, file);
    }
  }
});

test('the release is built only after the Node.js of the npm packages was compared with the official one', () => {
  const [, checks = '', build = ''] =
    /^ {2}runtime:\n(.*?)^ {2}build:\n(.*?)^ {2}release:\n/ms.exec(
      read('.github/workflows/release.yml'),
    ) ?? [];
  assert.match(checks, /^ +run: node scripts\/check-node\.js$/m);
  assert.match(build, /^ {4}needs: runtime$/m);
});

test('the release attaches every file that CONTRIBUTING.md lists', () => {
  const workflow = read('.github/workflows/release.yml');
  for (const command of ['npm run package', 'npm run sbom', 'docker save', 'sha256sum']) {
    assert.ok(workflow.includes(command), `no step runs ${command}`);
  }
  const listed = [...read('CONTRIBUTING.md').matchAll(/^\| `(petstore-image[^`]*)/gm)];
  const [[, image = ''] = []] = listed;
  assert.ok(workflow.includes(image.replace('ARCH', '${{ matrix.arch }}')), image);
});
