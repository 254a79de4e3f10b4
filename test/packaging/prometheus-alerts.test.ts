// A real Prometheus with the rules of contrib/prometheus, whose durations are shortened to seconds.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { needsProgram } from '../../harness/needs.ts';
import { Load } from '../../harness/load.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { freePort } from '../../harness/free-port.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { until } from '../../harness/until.ts';

const RULES = new URL('../../contrib/prometheus/rules.yml', import.meta.url);
const FOR_SECONDS = 3;
const RANGE_SECONDS = 10;
/** Longer than any of the shortened durations. */
const CALM_MS = 15_000;

test(
  'the alerts of contrib/prometheus fire while the store is locked or the service is away, and only then',
  { skip: needsProgram('prometheus') },
  async (t) => {
    const data = temporaryFolder(t);
    const [port, adminPort] = [await freePort(), await freePort()];
    const flags = ['--port', String(port), '--admin-port', String(adminPort)];
    let service = await ServiceProcess.start({ data, flags });
    t.after(() => service.kill());
    const { key, baseUrl } = service;
    const load = new Load({
      key,
      baseUrl: () => baseUrl,
      createEvery: 2,
      pauseMs: 100,
      mayRefuse: true,
      mayDisconnect: true,
    });
    load.start(1);
    t.after(() => load.stop());
    const firing = await startPrometheus(t, data, adminPort);
    await sleep(CALM_MS);
    assert.deepEqual(await firing(), []);

    const other = new DatabaseSync(service.file);
    other.exec('BEGIN IMMEDIATE');
    await until('PetstoreUnavailable fires', async () =>
      (await firing()).includes('PetstoreUnavailable'),
    );
    other.close();
    await until('it ends', async () => !(await firing()).includes('PetstoreUnavailable'));

    assert.ok(!(await firing()).includes('PetstoreDown'));
    await service.stop();
    await until('PetstoreDown fires', async () => (await firing()).includes('PetstoreDown'));
    service = await ServiceProcess.start({ data, key, flags });
    await until('it ends', async () => !(await firing()).includes('PetstoreDown'));
  },
);

/** Resolves when the service was scraped, to what returns the alerts that fire. */
async function startPrometheus(
  t: TestContext,
  folder: string,
  adminPort: number,
): Promise<() => Promise<string[]>> {
  const address = `127.0.0.1:${await freePort()}`;
  const [file, rules] = [join(folder, 'prometheus.json'), join(folder, 'rules.yml')];
  const shortened = readFileSync(RULES, 'utf8')
    .replaceAll(/^(\s*(?:for|keep_firing_for):) *\w+/gm, `$1 ${FOR_SECONDS}s`)
    .replaceAll(/\[\d+[smhd]\]/g, `[${RANGE_SECONDS}s]`);
  writeFileSync(rules, shortened);
  // Prometheus reads YAML, and JSON is valid YAML.
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [rules],
    scrape_configs: [
      { job_name: 'petstore', static_configs: [{ targets: [`127.0.0.1:${adminPort}`] }] },
    ],
  };
  writeFileSync(file, JSON.stringify(config));
  const storage = join(folder, 'prometheus');
  const words = [`--config.file=${file}`, `--storage.tsdb.path=${storage}`];
  const child = spawn('prometheus', [...words, `--web.listen-address=${address}`], {
    stdio: 'ignore',
  });
  t.after(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const get = async (path: string) => {
    const response = await fetch(`http://${address}/api/v1/${path}`);
    const { data } = (await response.json()) as { data: unknown };
    return data;
  };
  await until('a scrape', async () => {
    const up = await get('query?query=up').catch(() => undefined);
    return JSON.stringify(up ?? '').includes('"1"');
  });
  return async () => {
    const { alerts } = (await get('alerts')) as {
      alerts: { state: string; labels: { alertname: string } }[];
    };
    return alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
  };
}
