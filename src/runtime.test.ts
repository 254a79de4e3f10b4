import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unfitRuntime } from './runtime.ts';

test('Node.js below 26 and SQLite below 3.51.3 are refused in one line that names both versions', () => {
  assert.match(
    String(unfitRuntime({ node: '20.20.2', sqlite: '3.53.0' })),
    /^Node\.js 20\.20\.2.*26[^\n]*$/,
  );
  assert.match(String(unfitRuntime({ node: '25.9.0' })), /Node\.js 25\.9\.0/);
  assert.match(
    String(unfitRuntime({ node: '26.0.0', sqlite: '3.51.2' })),
    /^SQLite 3\.51\.2.*3\.51\.3[^\n]*$/,
  );
  assert.match(String(unfitRuntime({ node: '26.0.0' })), /SQLite/);
});

test('everything from there on is fine', () => {
  for (const sqlite of ['3.51.3', '3.52.0', '4.0.0']) {
    assert.equal(unfitRuntime({ node: '26.0.0', sqlite }), undefined);
  }
  assert.equal(unfitRuntime(process.versions), undefined);
});
