import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { Client } from '../client.ts';
import { ServiceProcess } from '../service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { FILE_FAULTS, type FileFault, type Paths } from './faults.ts';

const CONNECTIONS = 16;
/** How long the load runs before the fault, and again after a valid file is in place. */
const LOAD_MS = 200;
/** How long the file stays missing under load. */
const LOST_MS = 300;
const READY_MS_MAX = 30_000;
const POLL_MS = 10;
/** All workers count as ready after this many successful requests in a row, per worker. */
const SUCCESSES_PER_WORKER = 20;

export interface ReplacedReport {
  rounds: number;
  acknowledged: number;
  /** Creates that were sent after the fault and acknowledged. Each must be in the final file. */
  sentAfterLoss: number;
  refused: number;
  slowestReadyMs: number;
  slowestRefusalMs: number;
  violations: string[];
}

export interface ReplacedOptions {
  rounds: number;
  workers: number;
  /** These break the service on purpose. */
  nodeFlags?: readonly string[] | undefined;
  onProgress?: (round: number, fault: string) => void;
}

interface Sent {
  name: string;
  sentMs: number;
  tookMs: number;
  status: number;
}

/** Removes or replaces the file under load. Each round uses the next fault of the list. */
export async function drillReplacedFile(options: ReplacedOptions): Promise<ReplacedReport> {
  const key = newSecret('production', randomBytes);
  await using folder = await temporaryFolder();
  const report: ReplacedReport = {
    rounds: 0,
    acknowledged: 0,
    sentAfterLoss: 0,
    refused: 0,
    slowestReadyMs: 0,
    slowestRefusalMs: 0,
    violations: [],
  };
  const flags = ['--data', folder.path, '--workers', String(options.workers), '--log', 'warn'];
  const service = await ServiceProcess.start(flags, key, undefined, options.nodeFlags);
  const drill = new ReplacedFileDrill(service, key, folder.path, options.workers, report);
  for (let round = 0; round < options.rounds; round += 1) {
    const fault = FILE_FAULTS[round % FILE_FAULTS.length];
    if (fault === undefined) break;
    options.onProgress?.(round, fault.name);
    const canContinue = await drill.runRound(round, fault);
    if (!canContinue) break;
  }
  report.violations.push(...(await service.stop()));
  drill.checkFile('after the stop', []);
  return report;
}

class ReplacedFileDrill {
  readonly #service: ServiceProcess;
  readonly #key: string;
  readonly #paths: Paths;
  readonly #workers: number;
  readonly #report: ReplacedReport;

  constructor(
    service: ServiceProcess,
    key: string,
    folder: string,
    workers: number,
    report: ReplacedReport,
  ) {
    this.#service = service;
    this.#key = key;
    this.#workers = workers;
    this.#report = report;
    this.#paths = {
      file: join(folder, 'production', 'petstore.sqlite'),
      spare: join(folder, 'spare.sqlite'),
      aside: join(folder, 'aside'),
    };
  }

  /** Returns false if the file is broken, so that no further round is possible. */
  async runRound(round: number, fault: FileFault): Promise<boolean> {
    const title = `round ${round + 1}, ${fault.name}`;
    try {
      await this.#makeSpare();
      await this.#inject(round, fault, title);
      return true;
    } catch (error) {
      this.#report.violations.push(`${title}: ${String(error)}`);
      return false;
    }
  }

  async #inject(round: number, fault: FileFault, title: string): Promise<void> {
    const report = this.#report;
    const load = this.#startLoad(`round-${round}`);
    await sleep(LOAD_MS);
    await fault.lose(this.#paths);
    const lostMs = performance.now();
    if (fault.restore !== undefined) {
      await sleep(LOST_MS);
      await this.#expectNotReady(title);
      await fault.restore(this.#paths);
    }
    const backMs = performance.now();
    if (!(await this.#isReadyAgain())) report.violations.push(`${title}: not ready again`);
    report.slowestReadyMs = Math.max(report.slowestReadyMs, performance.now() - backMs);
    await sleep(LOAD_MS);
    const sent = await load.stop();

    const acknowledged = sent.filter(({ status }) => status === 201);
    const afterLoss = acknowledged.filter(({ sentMs }) => sentMs >= lostMs);
    report.rounds += 1;
    report.acknowledged += acknowledged.length;
    report.refused += sent.filter(({ status }) => status === 503).length;
    report.sentAfterLoss += afterLoss.length;
    report.slowestRefusalMs = Math.max(
      report.slowestRefusalMs,
      ...sent.filter(({ status }) => status === 503).map(({ tookMs }) => tookMs),
    );
    for (const { status, name } of sent) {
      if (status !== 201 && status !== 503) {
        report.violations.push(`${title}: ${name} returned ${status}`);
      }
    }
    if (afterLoss.length === 0)
      report.violations.push(`${title}: no create succeeded after the fault`);
    const kept = fault.isOldFileBack ? acknowledged : afterLoss;
    this.checkFile(
      title,
      kept.map(({ name }) => name),
    );
  }

  /** Adds a violation if the file fails the integrity check or lacks one of these animals. */
  checkFile(title: string, names: readonly string[]): void {
    const database = new DatabaseSync(this.#paths.file);
    try {
      const integrity = database.prepare('PRAGMA integrity_check').get()?.['integrity_check'];
      if (integrity !== 'ok') this.#report.violations.push(`${title}: ${String(integrity)}`);
      const find = database.prepare('SELECT 1 FROM pets WHERE name = ?');
      const missing = names.filter((name) => find.get(name) === undefined);
      if (missing.length > 0) {
        this.#report.violations.push(
          `${title}: ${missing.length} acknowledged creates are not in the file, such as ${missing[0]}`,
        );
      }
    } catch (error) {
      this.#report.violations.push(`${title}: the file cannot be read (${String(error)})`);
    } finally {
      database.close();
    }
  }

  async #makeSpare(): Promise<void> {
    await rm(this.#paths.spare, { force: true });
    await rm(this.#paths.aside, { force: true, recursive: true });
    const database = new DatabaseSync(this.#paths.file);
    database.prepare('VACUUM INTO ?').run(this.#paths.spare);
    database.close();
  }

  #startLoad(prefix: string): { stop(): Promise<Sent[]> } {
    const sent: Sent[] = [];
    const state = { isOver: false, count: 0 };
    const send = async () => {
      const client = new Client(this.#key);
      while (!state.isOver) {
        const name = `${prefix}-${(state.count += 1)}`;
        const sentMs = performance.now();
        const status = await this.#create(client, name);
        sent.push({ name, sentMs, tookMs: performance.now() - sentMs, status });
        // A refusal is immediate: without this pause the clients would send thousands.
        if (status !== 201) await sleep(POLL_MS);
      }
      client.close();
    };
    const sending = Promise.all(Array.from({ length: CONNECTIONS }, send));
    return {
      async stop() {
        state.isOver = true;
        await sending;
        return sent;
      },
    };
  }

  async #create(client: Client, name: string): Promise<number> {
    try {
      return (await client.create(this.#service.baseUrl, name, { isClaimed: false })).status;
    } catch {
      return 0;
    }
  }

  async #expectNotReady(title: string): Promise<void> {
    const client = new Client(this.#key);
    const { status: ready } = await client.get(new URL('/readyz', this.#service.baseUrl).href);
    const { status: list } = await client.get(`${this.#service.baseUrl}/pets`);
    client.close();
    if (ready !== 503)
      this.#report.violations.push(`${title}: /readyz returned ${ready} instead of 503`);
    if (list !== 503)
      this.#report.violations.push(`${title}: a list returned ${list} instead of 503`);
  }

  /** Resolves to true when every worker reports that it is ready and serves lists again. */
  async #isReadyAgain(): Promise<boolean> {
    const until = performance.now() + READY_MS_MAX;
    let successes = 0;
    while (successes < SUCCESSES_PER_WORKER * this.#workers) {
      if (performance.now() > until) return false;
      // A new connection each time, because the workers take connections in turn.
      const client = new Client(this.#key);
      const { status } = await client.get(new URL('/readyz', this.#service.baseUrl).href);
      const { status: list } = await client.get(`${this.#service.baseUrl}/pets?limit=1`);
      client.close();
      const isReady = status === 200 && list === 200;
      successes = isReady ? successes + 1 : 0;
      if (!isReady) await sleep(POLL_MS);
    }
    return true;
  }
}
