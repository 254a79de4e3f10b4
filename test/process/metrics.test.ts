// The metrics of a running service, and what is made from them: the alerts, the dashboard and the document.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { loadConfig } from '../../src/config.ts';
import { openLog } from '../../src/ops/log.ts';
import { startService } from '../../src/service.ts';
import { openSqliteStore } from '../../src/storage/sqlite/store.ts';
import { needsProgram } from '../../harness/needs.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { exchange } from '../../harness/raw-socket.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { flagsOf, send, sqliteStorage } from '../../harness/test-service.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { NEW_STORE } from '../../harness/store-identity.ts';

const REPOSITORY = dirname(dirname(import.meta.dirname));
const read = (name: string) => readFileSync(join(REPOSITORY, name), 'utf8');
const RULES = read('contrib/prometheus/rules.yml');
const DASHBOARD = JSON.parse(read('contrib/grafana/dashboard.json')) as Dashboard;

interface Dashboard {
  panels: { title: string; targets?: { expr: string }[] }[];
}

const skip = needsProgram('promtool');

test('the processor time is counted from the start of the process, also in the first scrape', async () => {
  const service = await ServiceProcess.start({ flags: ['--admin-port', '0', '--log', 'info'] });
  const atLeast = service.cpuSeconds();
  const { text } = await send(`${service.adminUrl}/metrics`);
  const atMost = service.cpuSeconds();
  await service.stop();
  const counted = valueOf(text, 'process_cpu_seconds_total') ?? 0;
  // The system counts in hundredths of a second.
  const isAsExpected = counted > atLeast - 0.05 && counted < atMost + 0.05;
  assert.ok(isAsExpected, `${atLeast} ${counted} ${atMost}`);
});

/** The text of /metrics after some requests, by store. */
const metrics = { sqlite: '', postgres: '' };
let postgres: PostgresServer;

before(async () => {
  postgres = await PostgresServer.start();
  const sqlite = await sqliteStorage.newDatabase();
  metrics.sqlite = await metricsAfterRequests(sqlite.flags, () => noteBackup(sqlite.flags[1]));
  await sqlite.remove();
  metrics.postgres = await metricsAfterRequests([
    '--database',
    postgres.url(await postgres.createDatabase()),
  ]);
});
after(() => postgres.close());

const BACKUP_SECONDS = 1_800_000_000;

/** Writes what `backup` leaves in the store. */
function noteBackup(data = ''): void {
  using database = new DatabaseSync(join(data, 'production', 'petstore.sqlite'));
  database.exec(`UPDATE store_identity SET last_backup_at = ${BACKUP_SECONDS * 1000}`);
}

async function metricsAfterRequests(flags: string[], change?: () => void): Promise<string> {
  const fixed = ['--port', '0', '--admin-port', '0', '--rate-limit', '7/60s'];
  const service = await startService(loadConfig(flagsOf([...fixed, ...flags]), {}), {
    clock: { now: () => new Date(), elapsedMs: () => performance.now() },
    randomBytes,
    newRequestId: randomUUID,
    isWorker: false,
    log: openLog('silent', process.stderr),
  });
  const headers = { authorization: `Bearer ${service.firstKey}` };
  const pets = `${service.baseUrl}/pets`;
  const create = { method: 'POST', headers, body: '{"name":"Rex","categoryId":1}' };
  await Promise.all([send(pets, create), send(pets, create)]);
  for (let index = 0; index < 3; index += 1) await send(pets, { headers });
  await send(`${pets}/99`, { headers });
  await send(`${pets}?limit=0`, { headers });
  await send(pets, { headers });
  await send(pets);
  await exchange(Number(new URL(pets).port), ['NOT HTTP\r\n\r\n']);
  change?.();
  const { text } = await send(`${service.adminUrl}/metrics`);
  await service.close();
  return text;
}

/** The value of one series; undefined without one. */
function valueOf(text: string, series: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

const valueIn = (store: keyof typeof metrics) => (series: string) =>
  valueOf(metrics[store], series);
const countIn = (store: keyof typeof metrics) => (code: string) =>
  valueOf(metrics[store], `petstore_errors_total{code="${code}"}`);

/** The names of all values: of a histogram those with their endings. */
function namesOf(text: string): Set<string> {
  const names = text.matchAll(/^(?:# TYPE )?([a-z_0-9]+)/gm);
  return new Set([...names].map(([, name = '']) => name));
}

const metricsNamed = (text: string) => [
  ...new Set(text.match(/\b(?:petstore|process|nodejs)_[a-z_0-9]+/g)),
];

for (const store of ['sqlite', 'postgres'] as const) {
  test(`${store}: /metrics counts errors by code, also those of bytes that are not a request`, () => {
    const count = countIn(store);
    assert.deepEqual(
      [count('pet_not_found'), count('invalid_parameter'), count('missing_api_key')],
      [1, 1, 1],
    );
    assert.deepEqual([count('rate_limited'), count('malformed_request')], [1, 1]);
    assert.deepEqual(
      [count('overloaded'), count('unavailable'), count('internal_error')],
      [0, 0, 0],
    );
  });

  test(`${store}: /metrics has the queue, the batches, the commits and the keys`, () => {
    const value = valueIn(store);
    assert.equal(value('petstore_writes_waiting'), 0);
    const batches = value('petstore_write_batch_size_count') ?? 0;
    assert.ok((value('petstore_write_batch_size_sum') ?? 0) >= 2, 'two creates');
    assert.ok(batches >= 1);
    assert.equal(value('petstore_commit_duration_seconds_count'), batches);
    assert.equal(value('petstore_commit_duration_seconds_bucket{le="+Inf"}'), batches);
    assert.ok((value('petstore_commit_duration_seconds_sum') ?? 0) > 0);
    assert.equal(value('petstore_api_keys'), 1);
    const age = value('petstore_api_keys_age_seconds') ?? -1;
    assert.ok(age >= 0 && age < 60, `the keys are ${age} s old`);
    const { version } = JSON.parse(read('package.json')) as { version: string };
    const node = process.versions.node;
    assert.equal(value(`petstore_build_info{version="${version}",node="${node}"}`), 1);
    assert.ok((value('process_resident_memory_bytes') ?? 0) > 10_000_000);
  });

  test(`${store}: promtool finds nothing wrong with /metrics`, { skip }, () => {
    promtool(['check', 'metrics'], metrics[store]);
  });
}

test('sqlite: /metrics has the hits of the cache', () => {
  const hits = valueOf(metrics.sqlite, 'petstore_cache_hits_total') ?? 0;
  const misses = valueOf(metrics.sqlite, 'petstore_cache_misses_total') ?? 0;
  assert.equal(hits + misses, 5, 'every read that was not refused by the rate limit');
  assert.equal(valueOf(metrics.sqlite, 'petstore_pool_waiting'), undefined);
});

test('sqlite: /metrics has the space on the disk, and the time of the last backup only where there was one', (t) => {
  const free = valueOf(metrics.sqlite, 'petstore_disk_free_bytes') ?? 0;
  const size = valueOf(metrics.sqlite, 'petstore_disk_size_bytes') ?? 0;
  assert.ok(free > 0 && free <= size, `${free} of ${size}`);
  const backup = 'petstore_last_backup_timestamp_seconds';
  assert.equal(valueOf(metrics.sqlite, backup), BACKUP_SECONDS);
  assert.equal(valueOf(metrics.postgres, backup), undefined);
  const store = openSqliteStore(join(temporaryFolder(t), 'petstore.sqlite'), NEW_STORE);
  t.after(() => store.close());
  assert.ok(!store.figures().some(({ name }) => name === backup));
});

test('sqlite: /metrics has the number of animals, and the size of the log', async (t) => {
  assert.equal(valueOf(metrics.sqlite, 'petstore_pets'), 2);
  assert.match(metrics.sqlite, /^petstore_wal_size_bytes \d+$/m);
  const store = openSqliteStore(join(temporaryFolder(t), 'petstore.sqlite'), NEW_STORE);
  t.after(() => store.close());
  const pet = { name: 'Rex', categoryId: 1n, status: 'available' } as const;
  const logBytes = () =>
    store.figures().find(({ name }) => name === 'petstore_wal_size_bytes')?.values[0]?.value ?? 0;
  // A log that is not used is emptied after a second, which may have passed on a busy machine.
  const deadlineMs = performance.now() + 60_000;
  do await store.createPet(pet);
  while (logBytes() === 0 && performance.now() < deadlineMs);
  assert.ok(performance.now() < deadlineMs);
});

test('postgres: /metrics has the connections by state, the queues and the refused sessions', () => {
  const state = (name: string) =>
    valueOf(metrics.postgres, `petstore_pool_connections{state="${name}"}`) ?? -1;
  assert.ok(state('used') + state('idle') >= 1, 'at least one connection is open');
  assert.equal(valueOf(metrics.postgres, 'petstore_pool_connections_max'), 10);
  assert.equal(valueOf(metrics.postgres, 'petstore_pool_waiting'), 0);
  assert.equal(valueOf(metrics.postgres, 'petstore_reads_waiting'), 0);
  assert.equal(valueOf(metrics.postgres, 'petstore_sessions_refused_total'), 0);
});

test('every metric in the alerts and in the dashboard is in /metrics', () => {
  const known = namesOf(metrics.sqlite + metrics.postgres);
  for (const name of metricsNamed(RULES + JSON.stringify(DASHBOARD))) {
    assert.ok(known.has(name), `${name} is not in /metrics`);
  }
});

test('docs/monitoring.md explains every metric of the service, and no other', () => {
  const own = [...(metrics.sqlite + metrics.postgres).matchAll(/^# TYPE (petstore_\w+)/gm)];
  const named = read('docs/monitoring.md').matchAll(/`(petstore_[a-z_]+)[`{]/g);
  assert.deepEqual(
    [...new Set([...named].map(([, name = '']) => name))].toSorted(),
    [...new Set(own.map(([, name = '']) => name))].toSorted(),
  );
});

test('every alert has a severity, a summary and a section of docs/ as its runbook', () => {
  const alerts = RULES.split(/^ {6}- alert: /m).slice(1);
  assert.ok(alerts.length > 0);
  for (const alert of alerts) {
    assert.match(alert, /^ {10}severity: (?:page|ticket)$/m, alert);
    assert.match(alert, /^ {10}summary: '.+\.'$/m, alert);
    // test/project/docs.unit.test.ts checks that the section exists.
    assert.match(alert, /^ {10}runbook: docs\/\w+\.md#\S+$/m, alert);
  }
});

test(
  'promtool accepts the alerts, and each has a case in which it fires and one in which it does not',
  { skip },
  () => {
    const cases = read('contrib/prometheus/rules.test.yml')
      .split(/^ {2}- name: /m)
      .slice(1);
    const alerts = RULES.match(/(?<=- alert: )\w+/g) ?? [];
    for (const alert of alerts) {
      const own = cases.filter((each) => each.includes(`alertname: ${alert}\n`));
      const [fires = '', isCalm = ''] = own;
      assert.ok(fires.startsWith(`'${alert} fires'`) && fires.includes('exp_alerts:'), alert);
      assert.ok(isCalm.startsWith(`'${alert} does not fire on `), alert);
      assert.ok(!isCalm.includes('exp_alerts:'), alert);
    }
    assert.equal(cases.length, 2 * alerts.length);
    const folder = join(REPOSITORY, 'contrib/prometheus');
    promtool(['check', 'rules', join(folder, 'rules.yml')]);
  },
);

test('promtool accepts every query of the dashboard', { skip }, (t) => {
  const queries = DASHBOARD.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  assert.ok(queries.length > 20);
  const rules = queries.map((query, index) => ({
    record: `query_${index}`,
    expr: query.replaceAll('$__rate_interval', '1m'),
  }));
  const file = join(temporaryFolder(t), 'queries.yml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
  promtool(['check', 'rules', file]);
});

/** Fails if promtool does, or if it has anything to say on standard error. */
function promtool(args: string[], input?: string): void {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  assert.deepEqual([status, stderr], [0, ''], stdout);
}
