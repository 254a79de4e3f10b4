import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../harness/free-port.ts';
import { Load } from '../../harness/load.ts';
import { needsProgram } from '../../harness/needs.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { startTestService, storageOf } from '../../harness/test-service.ts';
import { until } from '../../harness/until.ts';
import { REPOSITORY } from './packages.ts';

const FOLDER = join(REPOSITORY, 'contrib/prometheus');
const FOR_SECONDS = 3;
const RANGE_SECONDS = 10;
/** Longer than any of the shortened durations. */
const CALM_MS = 15_000;

// test/process/metrics.test.ts checks that each alert has its cases. To run them takes ten seconds of processor time.
test(
  'promtool confirms that each alert fires on its fault, and does not fire on a trifle',
  { skip: needsProgram('promtool') },
  () => {
    const args = ['test', 'rules', join(FOLDER, 'rules.test.yml')];
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, ''], stdout);
  },
);

test(
  'in Prometheus, the alerts fire while the store is locked or the service is away, and only then',
  { skip: needsProgram('prometheus') },
  async (t) => {
    const data = temporaryFolder(t);
    const adminPort = await freePort();
    const flags = ['--port', String(await freePort()), '--admin-port', String(adminPort)];
    const start = () => startTestService(storageOf('--data', data), { flags });
    let service = await start();
    t.after(() => service.close());
    const { key, baseUrl } = service;
    const clients = { createEvery: 2, pauseMs: 100, mayRefuse: true, mayDisconnect: true };
    const load = new Load({ key, baseUrl: () => baseUrl, ...clients });
    load.start(1);
    t.after(() => load.stop());
    const firing = await startPrometheus(t, data, adminPort);
    const has = (alert: string) => firing().then((alerts) => alerts.includes(alert));
    await sleep(CALM_MS);
    assert.deepEqual(await firing(), []);

    const other = new DatabaseSync(join(data, 'production/petstore.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    await until('PetstoreUnavailable fires', () => has('PetstoreUnavailable'));
    other.close();
    await until('it ends', async () => !(await has('PetstoreUnavailable')));

    assert.ok(!(await has('PetstoreDown')));
    await service.close();
    await until('PetstoreDown fires', () => has('PetstoreDown'));
    service = await start();
    await until('it ends', async () => !(await has('PetstoreDown')));
  },
);

/** Prometheus with the rules, whose durations are seconds, after a scrape. Returns what reads the alerts that fire. */
async function startPrometheus(t: TestContext, folder: string, adminPort: number) {
  const address = `127.0.0.1:${await freePort()}`;
  const rules = join(folder, 'rules.yml');
  const text = readFileSync(join(FOLDER, 'rules.yml'), 'utf8')
    .replaceAll(/^(\s*(?:for|keep_firing_for):) *\w+/gm, `$1 ${FOR_SECONDS}s`)
    .replaceAll(/\[\d+[smhd]\]/g, `[${RANGE_SECONDS}s]`);
  writeFileSync(rules, text);
  const targets = [`127.0.0.1:${adminPort}`];
  // Prometheus reads YAML, and JSON is valid YAML.
  const configuration = JSON.stringify({
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'petstore', static_configs: [{ targets }] }],
  });
  const file = join(folder, 'prometheus.json');
  writeFileSync(file, configuration);
  const paths = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'prometheus')}`];
  const child = spawn('prometheus', [...paths, `--web.listen-address=${address}`]);
  t.after(async () => {
    if (child.kill('SIGKILL')) await once(child, 'exit');
  });
  const get = (path: string) =>
    fetch(`http://${address}/api/v1/${path}`).then((response) => response.text());
  await until('a scrape', () =>
    get('query?query=up').then(
      (up) => up.includes('"1"'),
      () => false,
    ),
  );
  return async (): Promise<string[]> => {
    const { data } = JSON.parse(await get('alerts')) as {
      data: { alerts: { state: string; labels: { alertname: string } }[] };
    };
    const alerts = data.alerts.filter(({ state }) => state === 'firing');
    return alerts.map(({ labels }) => labels.alertname);
  };
}
