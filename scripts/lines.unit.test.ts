import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeLines, countLines, kindOf } from './lines.ts';

test('tests beside the sources are proof, and so are what tests share, drills and benchmarks', () => {
  const files = {
    'src/http/app.ts': 'product',
    'bin/petstore.js': 'product',
    'src/http/app.unit.test.ts': 'proof',
    'src/storage/store.contract.ts': 'proof',
    'check/deviations.test-server.ts': 'proof',
    'sdk/test/server.ts': 'proof',
    'drills/drill.ts': 'proof',
    'eslint.config.js': undefined,
  };
  for (const [file, kind] of Object.entries(files)) assert.equal(kindOf(file), kind, file);
});

test('empty lines and comments are not code', () => {
  const text = '// One.\n\n/** Two.\n * Three.\n */\n  #private = 1; // Counts.\n  * 2;\n';
  assert.equal(codeLines('a.ts', text), 1);
  assert.equal(codeLines('a.sh', '#!/bin/sh\n# One.\necho\n'), 1);
  assert.equal(codeLines('a.sql', '-- One.\nSELECT 1;\n'), 1);
  assert.equal(codeLines('a.css', '/* One. */\n#id {\n}\n'), 2);
});

test('every folder of the sources is counted', () => {
  const folders = [...(countLines().get('product') ?? [])].map(([folder]) => folder);
  for (const folder of ['src/cli', 'src/domain', 'src', 'bin', 'scripts', 'sdk', 'check']) {
    assert.ok(folders.includes(folder), folder);
  }
});
