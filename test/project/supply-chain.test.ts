// What a user installs, and what it may be.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { test } from 'node:test';
import { runtimePackages, runtimeSbom } from '../../scripts/sbom.ts';
import { REPOSITORY } from '../packaging/packages.ts';

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
