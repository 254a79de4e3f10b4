import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeenLines } from './page/seen-lines.ts';

const HOUR_MS = 3_600_000;

test('the lines that a browser has added are known for 24 hours, to the key that added them', (t) => {
  const stored = new Map<string, string>();
  const storage = {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => stored.set(name, value),
  };
  Object.defineProperty(globalThis, 'localStorage', { configurable: true, value: storage });
  t.after(() => Reflect.deleteProperty(globalThis, 'localStorage'));
  t.mock.timers.enable({ apis: ['Date'] });
  const lines = new SeenLines('key');
  lines.add('0123456789abcdef');
  lines.save();
  assert.equal(new SeenLines('key').has('fedcba9876543210'), false);
  assert.equal(new SeenLines('another key').has('0123456789abcdef'), false);
  t.mock.timers.tick(24 * HOUR_MS - 1);
  assert.equal(new SeenLines('key').has('0123456789abcdef'), true);
  t.mock.timers.tick(1);
  assert.equal(new SeenLines('key').has('0123456789abcdef'), false);
});
