// Short runs of drills/crash, drills/hostile-http, drills/slow-clients and drills/endurance, and of what they must
// notice. `npm run drill NAME` runs the long ones.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokenBy } from './broken/broken.ts';
import { drillCrash } from './crash/drill.ts';
import { drillEndurance } from './endurance/drill.ts';
import { drillHostileHttp } from './hostile-http/drill.ts';
import { drillSlowClients } from './slow-clients/drill.ts';

const short = { seed: 1, onProgress: () => undefined };

test('after kill -9 of the process during a commit, and of the primary, and without the file, nothing acknowledged is lost, changed or stored twice', async () => {
  const victims = ['primary', 'writer', 'file'] as const;
  const report = await drillCrash({ ...short, rounds: 3, victims });
  assert.deepEqual(report.violations, []);
  assert.ok(report.passed > 0);
  assert.ok(Number(report.figures['creates without a response, repeated']) > 0);
});

test('the drill notices creates that are acknowledged directly before their commit', async () => {
  const nodeFlags = brokenBy('acknowledges-early');
  const report = await drillCrash({ ...short, rounds: 2, victims: ['slow commit'], nodeFlags });
  assert.ok(report.violations.some((violation) => violation.endsWith('is lost')));
});

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

test('aborted uploads and clients that forge keys leave no socket open and store nothing, and legal requests succeed', async () => {
  const attacks = { abort: 100, forge: 20 };
  const report = await drillSlowClients({ attacks, measuredMs: 200 });
  assert.deepEqual(report.violations, []);
});

test('requests of every kind get their status, and leave neither open files nor memory', async () => {
  const report = await drillEndurance({ ...short, rounds: 2_000 });
  assert.deepEqual(report.violations, []);
  assert.ok(report.passed >= 2_000);
});

test('the drill notices a service that leaks', async () => {
  const report = await drillEndurance(
    { ...short, rounds: 2_000 },
    { nodeFlags: brokenBy('leaks') },
  );
  assert.ok(report.violations.some((violation) => violation.includes('files were open')));
});
