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
/** How long the load runs before the fault, and again after the restart. */
const LOAD_MS = 200;
const END_MS_MAX = 20_000;
const POLL_MS = 10;

export interface ReplacedReport {
  rounds: number;
  acknowledged: number;
  /** Creates that were acknowledged after the restart. Each must be in the final file. */
  afterRestart: number;
  refused: number;
  slowestEndMs: number;
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
  /** 0 if there was no response. */
  status: number;
}

/** Removes or replaces the file under load. Each round uses the next fault of the list. */
export async function drillReplacedFile(options: ReplacedOptions): Promise<ReplacedReport> {
  await using folder = await temporaryFolder();
  const drill = new ReplacedFileDrill(folder.path, options);
  const { report } = drill;
  try {
    await drill.start();
    for (let round = 0; round < options.rounds; round += 1) {
      const fault = FILE_FAULTS[round % FILE_FAULTS.length];
      if (fault === undefined) break;
      options.onProgress?.(round, fault.name);
      await drill.runRound(round, fault);
    }
  } catch (error) {
    report.violations.push(`no further round is possible: ${String(error)}`);
  }
  await drill.stop();
  return report;
}

class ReplacedFileDrill {
  readonly report: ReplacedReport = {
    rounds: 0,
    acknowledged: 0,
    afterRestart: 0,
    refused: 0,
    slowestEndMs: 0,
    slowestRefusalMs: 0,
    violations: [],
  };
  readonly #key = newSecret('production', randomBytes);
  readonly #paths: Paths;
  readonly #startProcess: () => Promise<ServiceProcess>;
  #service: ServiceProcess | undefined;

  constructor(folder: string, { workers, nodeFlags }: ReplacedOptions) {
    this.#paths = {
      file: join(folder, 'production', 'petstore.sqlite'),
      spare: join(folder, 'spare.sqlite'),
      aside: join(folder, 'aside'),
    };
    const flags = ['--data', folder, '--workers', String(workers), '--log', 'warn'];
    this.#startProcess = () => ServiceProcess.start(flags, this.#key, undefined, nodeFlags);
  }

  async start(): Promise<void> {
    this.#service = await this.#startProcess();
  }

  async stop(): Promise<void> {
    this.report.violations.push(...((await this.#service?.stop()) ?? []));
  }

  async runRound(round: number, fault: FileFault): Promise<void> {
    const { report } = this;
    const title = `round ${round + 1}, ${fault.name}`;
    const fail = (what: string) => report.violations.push(`${title}: ${what}`);
    await this.#makeSpare();
    const load = this.#startLoad(`round-${round}-before`);
    await sleep(LOAD_MS);
    await fault.lose(this.#paths);
    const lostMs = performance.now();
    await this.#expectEnd(fail);
    report.slowestEndMs = Math.max(report.slowestEndMs, performance.now() - lostMs);
    const before = await load.stop();
    await fault.restore?.(this.#paths);

    await this.start();
    const secondLoad = this.#startLoad(`round-${round}-after`);
    await sleep(LOAD_MS);
    const after = await secondLoad.stop();
    this.#count(before, after);
    const late = acknowledged(before.filter(({ sentMs }) => sentMs >= lostMs));
    if (late.length > 0) fail(`${late.length} creates were acknowledged after the fault`);
    const other = after.find(({ status }) => status !== 201);
    if (other !== undefined) fail(`${other.name} returned ${other.status} after the restart`);
    this.#checkFile(fault, { before: acknowledged(before), after: acknowledged(after) }, fail);
    report.rounds += 1;
  }

  #count(before: readonly Sent[], after: readonly Sent[]): void {
    const { report } = this;
    const refused = before.filter(({ status }) => status === 503);
    report.acknowledged += acknowledged(before).length + acknowledged(after).length;
    report.afterRestart += acknowledged(after).length;
    report.refused += refused.length;
    const slowest = Math.max(0, ...refused.map(({ tookMs }) => tookMs));
    report.slowestRefusalMs = Math.max(report.slowestRefusalMs, slowest);
  }

  async #expectEnd(fail: (what: string) => void): Promise<void> {
    const service = this.#service;
    if (service === undefined) return;
    const code = await service.waitForEnd(END_MS_MAX);
    if (code !== 1) fail(`the service ended with ${code}`);
    const lines = service.countLogLines('"level":"fatal"');
    if (lines !== 1) fail(`the service wrote ${lines} lines about its end`);
  }

  /** The file has what was acknowledged to it, and nothing of the log of another file. */
  #checkFile(
    { isOldFileBack }: FileFault,
    { before, after }: { before: string[]; after: string[] },
    fail: (what: string) => void,
  ): void {
    const database = new DatabaseSync(this.#paths.file);
    try {
      const integrity = database.prepare('PRAGMA integrity_check').get()?.['integrity_check'];
      if (integrity !== 'ok') fail(String(integrity));
      const find = database.prepare('SELECT 1 FROM pets WHERE name = ?');
      const isStored = (name: string) => find.get(name) !== undefined;
      const missing = [...after, ...(isOldFileBack ? before : [])].filter(
        (name) => !isStored(name),
      );
      if (missing.length > 0) fail(`${missing.length} acknowledged creates are not in the file`);
      const foreign = isOldFileBack ? [] : before.filter(isStored);
      if (foreign.length > 0)
        fail(`${foreign.length} creates of the former file are in the new one`);
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
    const baseUrl = this.#service?.baseUrl ?? '';
    const send = async () => {
      const client = new Client(this.#key);
      while (!state.isOver) {
        const name = `${prefix}-${(state.count += 1)}`;
        const sentMs = performance.now();
        const status = await client.create(baseUrl, name, { isClaimed: false }).then(
          (response) => response.status,
          () => 0,
        );
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
}

function acknowledged(sent: readonly Sent[]): string[] {
  return sent.filter(({ status }) => status === 201).map(({ name }) => name);
}
