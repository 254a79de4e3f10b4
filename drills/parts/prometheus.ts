import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { freePort } from '../../test/support/postgres-server.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { ServiceProcess } from '../service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { SteadyClient } from './steady-client.ts';

const PROGRAM = 'prometheus';
const RULES = new URL('../../contrib/prometheus/rules.yml', import.meta.url);
/** Prometheus scrapes and evaluates every second, so that rules can be shortened to seconds. */
const FOR_SECONDS = 3;
const RANGE_SECONDS = 10;
const CALM_MS = 15_000;
const ALERT_MS_MAX = 60_000;
const POLL_MS = 250;

export const drill: Drill = {
  purpose:
    'Prometheus with the rules of contrib/prometheus: alerts fire while the store is locked or the service is away, not before, and resolve afterwards.',
  unit: 'rounds of both faults',
  rounds: 2,
  quickRounds: 1,
  isNamedOnly: true,
  findMissing,
  run: (options) => run(options, FAULTS),
  control: {
    brokenBy: 'no fault',
    run: (options) => run(options, { PetstoreDown: async () => async () => undefined }),
  },
};

function findMissing(): string | undefined {
  if (spawnSync(PROGRAM, ['--version']).error !== undefined) return 'Prometheus is not installed';
  return existsSync(RULES) ? undefined : 'contrib/prometheus/rules.yml does not exist';
}

interface Scene {
  data: string;
  start: () => Promise<ServiceProcess>;
  service: ServiceProcess;
}

/** Provokes a fault. What it returns mends it. */
type Fault = (scene: Scene) => Promise<() => Promise<void>>;

/** By the alert that must fire. */
const FAULTS: Readonly<Record<string, Fault>> = {
  // Another program holds the lock of the store.
  PetstoreUnavailable: async ({ data }) => {
    const other = new DatabaseSync(join(data, 'production', 'petstore.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    return async () => other.close();
  },
  PetstoreDown: async (scene) => {
    await scene.service.stop();
    return async () => {
      scene.service = await scene.start();
    };
  },
};

async function run(
  { rounds, onProgress }: DrillOptions,
  faults: Readonly<Record<string, Fault>>,
): Promise<DrillReport> {
  await using folder = await temporaryFolder();
  const data = folder.path;
  const key = newSecret('production', randomBytes);
  const [port, adminPort] = [String(await freePort()), String(await freePort())];
  const flags = ['--data', data, '--port', port, '--admin-port', adminPort];
  const start = () => ServiceProcess.start(flags, key);
  const scene: Scene = { data, start, service: await start() };
  const client = new SteadyClient(scene.service.baseUrl, key);
  const prometheus = await Prometheus.start(data, Number(adminPort));
  const report = { passed: 0, violations: [] as string[], figures: {} as Record<string, string> };
  const check = (isTrue: boolean, violation: string) => {
    if (isTrue) report.passed += 1;
    else report.violations.push(violation);
  };
  try {
    onProgress('all is well');
    await sleep(CALM_MS);
    for (let round = 1; round <= rounds; round += 1) {
      for (const [alert, provoke] of Object.entries(faults)) {
        onProgress(`${round} of ${rounds}: ${alert}`);
        check(!(await prometheus.firing()).includes(alert), `${alert} fires without a fault`);
        const mend = await provoke(scene);
        const fired = await prometheus.until(alert, true);
        check(fired !== undefined, `${alert} did not fire`);
        await mend();
        const resolved = await prometheus.until(alert, false);
        check(resolved !== undefined, `${alert} did not resolve`);
        report.figures[`${round}: ${alert}`] =
          `fired after ${fired} s, resolved after ${resolved} s`;
      }
    }
  } finally {
    await client.stop();
    await prometheus.close();
    await scene.service.stop();
  }
  return report;
}

class Prometheus {
  readonly #url: string;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.#url = url;
    this.#child = child;
    process.once('exit', () => child.kill('SIGKILL'));
  }

  /** Resolves when the service was scraped. */
  static async start(folder: string, adminPort: number): Promise<Prometheus> {
    const address = `127.0.0.1:${await freePort()}`;
    const file = join(folder, 'prometheus.json');
    const rules = join(folder, 'rules.yml');
    await writeFile(rules, shorten(readFileSync(RULES, 'utf8')));
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [rules],
      scrape_configs: [
        { job_name: 'petstore', static_configs: [{ targets: [`127.0.0.1:${adminPort}`] }] },
      ],
    };
    // Prometheus reads YAML, and JSON is valid YAML.
    await writeFile(file, JSON.stringify(config));
    const child = spawn(
      PROGRAM,
      [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(folder, 'prometheus')}`,
        `--web.listen-address=${address}`,
      ],
      { stdio: 'ignore' },
    );
    const prometheus = new Prometheus(`http://${address}/api/v1`, child);
    for (;;) {
      const up = await prometheus.#get('query?query=up').catch(() => undefined);
      if (JSON.stringify(up ?? '').includes('"1"')) return prometheus;
      if (child.exitCode !== null) throw new Error(`Prometheus ended with ${child.exitCode}`);
      await sleep(POLL_MS);
    }
  }

  /** The names of the alerts that fire. */
  async firing(): Promise<string[]> {
    const { alerts } = (await this.#get('alerts')) as {
      alerts: { state: string; labels: { alertname: string } }[];
    };
    return alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
  }

  /** The seconds until the alert fires, or fires no longer. Undefined if it takes too long. */
  async until(alert: string, isFiring: boolean): Promise<string | undefined> {
    const startedMs = performance.now();
    const tookMs = () => performance.now() - startedMs;
    while ((await this.firing()).includes(alert) !== isFiring) {
      if (tookMs() > ALERT_MS_MAX) return undefined;
      await sleep(POLL_MS);
    }
    return (tookMs() / 1_000).toFixed(1);
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  async #get(path: string): Promise<unknown> {
    const response = await fetch(`${this.#url}/${path}`);
    const { data } = (await response.json()) as { data: unknown };
    return data;
  }
}

/** The rules wait for minutes. A drill has only seconds. */
function shorten(rules: string): string {
  return rules
    .replaceAll(/^(\s*(?:for|keep_firing_for):) *\w+/gm, `$1 ${FOR_SECONDS}s`)
    .replaceAll(/\[\d+[smhd]\]/g, `[${RANGE_SECONDS}s]`);
}
