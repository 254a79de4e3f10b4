// What drills/fuzz makes of the report of Schemathesis. The drill itself installs Schemathesis, so it is not run here.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { FuzzReport } from './report.ts';

const content = (text: string) => ({ $base64: Buffer.from(text).toString('base64') });

/** One request of a report. A failure is the name of the check that failed. */
function line(sent: string, status: number, received: string, failure?: string): string {
  const interaction = {
    request: { method: 'POST', body: content(sent) },
    response: { status_code: status, headers: {}, content: content(received) },
  };
  const checks = failure === undefined ? [] : [{ name: failure, status: 'failure' }];
  const recorder = { interactions: { id: interaction }, checks: { id: checks } };
  return JSON.stringify({ ScenarioFinished: { recorder } });
}

async function read(lines: readonly string[]): Promise<FuzzReport> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-fuzz-'));
  const file = join(folder, 'report.ndjson');
  writeFileSync(file, lines.join('\n'));
  const report = new FuzzReport();
  await report.read(file);
  rmSync(folder, { recursive: true });
  return report;
}

const REX = '{"name":"Rex","categoryId":7}';
const rex = (id: number) => `{"id":${id},"name":"Rex","categoryId":7,"status":"available"}`;
const refusal = (code: string) => JSON.stringify({ code, message: 'No.', status: 400 });

test('a refusal that no schema can express is counted by its kind; any other failed check is a violation', async () => {
  const check = 'positive_data_acceptance';
  const lone = String.raw`{"name":"\ud800","categoryId":7}`;
  const { requests, kinds, violations } = await read([
    line('', 400, refusal('invalid_cursor'), check),
    line(REX, 422, refusal('idempotency_key_reused'), check),
    line(REX, 400, refusal('unknown_field'), check),
    line(REX, 400, refusal('unknown_parameter'), check),
    line(lone, 400, refusal('invalid_field'), check),
    line(REX, 400, refusal('invalid_field'), check),
    line('', 400, refusal('invalid_cursor'), 'response_schema_conformance'),
    JSON.stringify({ NonFatalError: 'a phase ended early' }),
  ]);
  assert.deepEqual([...kinds.values()], [1, 1, 1, 1, 1]);
  assert.equal(requests, 7);
  assert.equal(violations.length, 3, violations.join('\n'));
});

test('an animal that is not what was sent, and an id that is assigned twice, are violations', async () => {
  const { violations } = await read([
    line(REX, 201, rex(1)),
    line(REX, 201, rex(2).replace('Rex', 'Max')),
    line(REX, 201, rex(1)),
  ]);
  assert.equal(violations.length, 2);
  assert.match(violations.join('\n'), /animal 2 is not what was sent.*\n.*id 1 was assigned twice/);
});
