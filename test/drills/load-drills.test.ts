// Short runs of drills/crash, drills/hostile-http, drills/slow-clients and drills/endurance, and of what they must
// notice. `npm run drill NAME` runs the long ones.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokenBy } from '../../drills/broken/broken.ts';
import { drillCrash } from '../../drills/crash/crash.ts';
import { drillEndurance } from '../../drills/endurance/endurance.ts';
import { drillHostileHttp } from '../../drills/hostile-http/hostile-http.ts';
import { drillSlowClients } from '../../drills/slow-clients/slow-clients.ts';

const SEED = 1;

test('after kill -9 of the process during a commit, and of the primary, and without the file, nothing acknowledged is lost, changed or stored twice', async () => {
  const victims = ['primary', 'writer', 'file'] as const;
  const report = await drillCrash({ rounds: 3, seed: SEED, victims });
  assert.deepEqual(report.violations, []);
  assert.ok(report.acknowledged > 0 && report.unanswered > 0);
});

test('the drill notices creates that are acknowledged directly before their commit', async () => {
  const report = await drillCrash({
    rounds: 2,
    seed: SEED,
    victims: ['slow commit'],
    nodeFlags: brokenBy('acknowledges-early'),
  });
  assert.ok(report.violations.some((violation) => violation.endsWith('is lost')));
});

test('malformed and mutated requests get an Error or the right response, and nothing that was refused is stored', async () => {
  const report = await drillHostileHttp({ requests: 500, seed: SEED });
  assert.deepEqual(report.violations, []);
  assert.ok(report.created > 0 && report.responses > 0);
});

test('the drill notices a parser that executes hidden requests, and errors in plain text', async () => {
  const options = { requests: 500, seed: SEED };
  const nodeFlags = ['--insecure-http-parser'];
  const hidden = await drillHostileHttp({ ...options, nodeFlags });
  assert.ok(hidden.violations.some((violation) => violation.includes('out of order')));
  const plain = await drillHostileHttp({ ...options, nodeFlags: brokenBy('plain-errors') });
  assert.ok(plain.violations.some((violation) => violation.includes('400 with Bad Request')));
});

test('aborted uploads and clients that forge keys leave no socket open and store nothing, and legal requests succeed', async () => {
  const attacks = { abort: 100, forge: 20 };
  const report = await drillSlowClients({ attacks, measuredMs: 200 });
  assert.deepEqual(report.violations, []);
});

test('requests of every kind get their status, and leave neither open files nor memory', async () => {
  const report = await drillEndurance({ requests: 2_000, seed: SEED });
  assert.deepEqual(report.violations, []);
  assert.equal(report.requests, 2_000);
});

test('the drill notices a service that leaks', async () => {
  const report = await drillEndurance({
    requests: 2_000,
    seed: SEED,
    nodeFlags: brokenBy('leaks'),
  });
  assert.ok(report.violations.some((violation) => violation.includes('files were open')));
});
