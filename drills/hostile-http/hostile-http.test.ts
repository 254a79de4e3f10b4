// Short runs of `npm run drill hostile-http`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokenBy } from '../broken/broken.ts';
import { drillHostileHttp } from './drill.ts';

const short = { seed: 1, onProgress: () => undefined };

test('malformed and mutated requests get an Error or the right response, and nothing that was refused is stored', async () => {
  const report = await drillHostileHttp({ ...short, rounds: 500 });
  assert.deepEqual(report.violations, []);
  assert.ok(Number(report.figures['animals created']) > 0);
});

test('the drill notices a parser that executes hidden requests, and errors in plain text', async () => {
  const options = { ...short, rounds: 500 };
  const hidden = await drillHostileHttp(options, ['--insecure-http-parser']);
  assert.ok(hidden.violations.some((violation) => violation.includes('out of order')));
  const plain = await drillHostileHttp(options, brokenBy('plain-errors'));
  assert.ok(plain.violations.some((violation) => violation.includes('400 with Bad Request')));
});
