import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { verifyPostgres } from '../../src/storage/postgres/verify.ts';
import { verifySqlite } from '../../src/storage/sqlite/verify.ts';
import type { PostgresServer } from '../../test/support/postgres-server.ts';
import { ServiceProcess } from '../service-process.ts';
import { newRandom, type Random } from '../random.ts';
import type { Timed } from '../stolen-time.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { Creates } from './creates.ts';

/** The load runs for up to this long before the kill, and for this long after it if the service survives. */
const LOAD_MS_MAX = 250;
const LOAD_AFTER_MS = 150;
const STEP_MS_MAX = 30_000;
const STARTS_MAX = 10;
const NO_DATABASE = /no response in time|cannot be reached/;
const POLL_MS = 5;
/** Workers end after their primary: they drain for up to 8 seconds. */
const WORKERS_END_MS_MAX = 12_000;

/** `writer` is the process at the moment at which its writer thread has written a commit to the log. */
export type Victim = 'process' | 'writer' | 'primary' | 'worker' | 'database' | 'session';

const WORKERS: Readonly<Record<Victim, number>> = {
  process: 1,
  writer: 1,
  primary: 2,
  worker: 2,
  database: 1,
  session: 2,
};

export interface CrashOptions {
  rounds: number;
  seed: number;
  victims: readonly Victim[];
  /** A PostgreSQL, which is killed too. By default the drill uses the embedded store. */
  server?: PostgresServer;
  /** These break the service on purpose. */
  nodeFlags?: readonly string[] | undefined;
  onProgress?: (round: number, victim: Victim, report: CrashReport) => void;
}

export interface CrashReport {
  rounds: Record<string, number>;
  acknowledged: number;
  /** Creates without a response because of a kill. All of them were repeated. */
  repeated: number;
  /** From the start of the process until it accepted requests. */
  starts: Timed[];
  /** Starts that failed because PostgreSQL gave no response in time. */
  refusedStarts: number;
  violations: string[];
}

/**
 * Kills a part of the service or of the database under 32 writers, starts what has ended, repeats every create
 * without a response, and compares what is stored with what was acknowledged.
 */
export async function drillCrash(options: CrashOptions): Promise<CrashReport> {
  await using folder = await temporaryFolder();
  const drill = new CrashDrill(options, folder.path);
  try {
    for (let round = 1; round <= options.rounds; round += 1) await drill.runRound(round);
    await drill.finish();
  } finally {
    await drill.service?.kill();
  }
  return drill.report;
}

class CrashDrill {
  readonly report: CrashReport;
  service: ServiceProcess | undefined;
  readonly #options: CrashOptions;
  readonly #folder: string;
  readonly #random: Random;
  readonly #key = newSecret('production', randomBytes);
  readonly #creates = new Creates(this.#key);
  #workers = 0;

  constructor(options: CrashOptions, folder: string) {
    this.#options = options;
    this.#folder = folder;
    this.#random = newRandom(options.seed);
    const { violations } = this.#creates;
    this.report = {
      rounds: {},
      acknowledged: 0,
      repeated: 0,
      starts: [],
      refusedStarts: 0,
      violations,
    };
  }

  async runRound(round: number): Promise<void> {
    const { victims } = this.#options;
    const victim = victims[round % victims.length] ?? 'process';
    this.#options.onProgress?.(round, victim, this.report);
    const creates = this.#creates;
    const before = creates.violations.length;
    const known = creates.acknowledged.size;
    const service = await this.#start(WORKERS[victim]);
    const writers = creates.startWriters(service.baseUrl);
    await until('the first create', () => creates.acknowledged.size > known);
    await sleep(this.#random.integer(LOAD_MS_MAX));
    const workers = service.workerPids();
    await this.#kill(victim, service);
    if (victim === 'process' || victim === 'writer' || victim === 'primary') {
      await writers.ended;
      await this.#requireEnd(workers);
      this.service = undefined;
    } else {
      await sleep(LOAD_AFTER_MS);
      writers.stop();
      await writers.ended;
    }
    const { baseUrl } = await this.#start(WORKERS[victim]);
    await creates.repeat(baseUrl, known, this.#random);
    await creates.compare(baseUrl, { isAll: false });
    await this.#verify();
    this.report.rounds[victim] = (this.report.rounds[victim] ?? 0) + 1;
    this.report.acknowledged = creates.acknowledged.size;
    this.report.repeated = creates.repeated;
    for (const [index, text] of creates.violations.entries()) {
      if (index >= before) creates.violations[index] = `round ${round}, ${victim}: ${text}`;
    }
  }

  /** Compares the whole catalogue once more: a later crash must not lose what an earlier one left. */
  async finish(): Promise<void> {
    const service = await this.#start(this.#workers);
    await this.#creates.compare(service.baseUrl, { isAll: true });
    this.report.violations.push(...(await service.stop()));
    await this.#verify();
  }

  /** Starts the service, unless it runs with this many workers. */
  async #start(workers: number): Promise<ServiceProcess> {
    if (this.service !== undefined && workers === this.#workers) return this.service;
    if (this.service !== undefined) this.report.violations.push(...(await this.service.stop()));
    const { server, nodeFlags } = this.#options;
    const flags = ['--data', this.#folder, '--workers', String(workers), '--log', 'silent'];
    if (server !== undefined) flags.push('--database', server.url());
    for (let attempt = 1; ; attempt += 1) {
      const sentMs = Date.now();
      try {
        this.service = await ServiceProcess.start(flags, this.#key, undefined, nodeFlags);
        this.#workers = workers;
        this.report.starts.push({ sentMs, tookMs: Date.now() - sentMs });
        return this.service;
      } catch (error) {
        // On a busy machine PostgreSQL may not respond in time. A supervisor starts the service again.
        if (!NO_DATABASE.test(String(error)) || attempt === STARTS_MAX) throw error;
        this.report.refusedStarts += 1;
      }
    }
  }

  async #kill(victim: Victim, service: ServiceProcess): Promise<void> {
    switch (victim) {
      case 'process':
      case 'primary':
        return service.kill();
      case 'writer':
        await this.#untilLogWritten();
        return service.kill();
      case 'worker':
        process.kill(this.#random.pick(service.workerPids()), 'SIGKILL');
        return undefined;
      case 'database':
        await this.#options.server?.kill();
        return this.#options.server?.start();
      case 'session':
        return this.#killSession();
    }
  }

  /** Resolves as soon as the log of the store changes: the commit is written, but not yet acknowledged. */
  async #untilLogWritten(): Promise<void> {
    const log = `${this.#file}-wal`;
    const changedNs = () => statSync(log, { bigint: true, throwIfNoEntry: false })?.mtimeNs;
    const beforeNs = changedNs();
    while (changedNs() === beforeNs) await setImmediate();
  }

  /** PostgreSQL ends all sessions when one of them is killed, and recovers. */
  async #killSession(): Promise<void> {
    const rows = await this.#options.server?.query(
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'petstore'`,
    );
    const [pid] = this.#random.pick(rows ?? [[]]);
    if (typeof pid === 'number') process.kill(pid, 'SIGKILL');
  }

  async #requireEnd(pids: readonly number[]): Promise<void> {
    const untilMs = performance.now() + WORKERS_END_MS_MAX;
    while (pids.some(isRunning)) {
      if (performance.now() > untilMs) {
        this.report.violations.push('a worker outlived its primary by 12 s');
        return;
      }
      await sleep(POLL_MS);
    }
  }

  get #file(): string {
    return join(this.#folder, 'production', 'petstore.sqlite');
  }

  async #verify(): Promise<void> {
    const { server } = this.#options;
    const { problems } =
      server === undefined ? verifySqlite(this.#file) : await verifyPostgres(server.url());
    this.report.violations.push(...problems.map((problem) => `verify: ${problem}`));
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function until(what: string, isTrue: () => boolean): Promise<void> {
  const untilMs = performance.now() + STEP_MS_MAX;
  while (!isTrue()) {
    if (performance.now() > untilMs) throw new Error(`no sign of ${what} within 30 s`);
    await sleep(POLL_MS);
  }
}
