import { randomBytes } from 'node:crypto';
import { renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { verifyPostgres } from '../../src/storage/postgres/verify.ts';
import { verifySqlite } from '../../src/storage/sqlite/verify.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillReport } from '../drill.ts';
import { Load } from '../../harness/load.ts';
import { newRandom, type Random } from '../../harness/random.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { median, StolenTime, type Timed } from '../../harness/stolen-time.ts';
import { mergeReports } from '../stores.ts';
import { disposableFolder } from '../../harness/temporary-folder.ts';

const WRITERS = 32;
/** The load runs for up to this long before the kill, and for this long after it if the service survives. */
const LOAD_MS_MAX = 250;
const LOAD_AFTER_MS = 150;
const FIRST_CREATE_MS_MAX = 30_000;
const FAIL_STOP_MS_MAX = 20_000;
/** How many acknowledged creates are repeated after each round. */
const REPEATED = 20;
const ATTEMPTS_MAX = 10;
const NO_DATABASE = /no response in time|cannot be reached/;
const POLL_MS = 5;
const READY_MS_MAX = 2_000;
const JUDGED_ROUNDS_MIN = 50;
/** Workers end after their primary: they drain for up to 8 seconds. */
const WORKERS_END_MS_MAX = 12_000;

/**
 * `writer` is the process at the moment at which its writer thread has written a commit to the log, `slow commit`
 * the process while each commit takes long, and `file` the store file or its folder, which are moved away.
 */
export type Victim =
  'process' | 'writer' | 'slow commit' | 'primary' | 'worker' | 'file' | 'database' | 'session';
const WITH_WORKERS: readonly Victim[] = ['primary', 'worker', 'session'];
const ENDS_PROCESS: readonly Victim[] = ['process', 'writer', 'slow commit', 'primary', 'file'];

export const drill: Drill = {
  promise:
    'Nothing acknowledged is lost or changed when a process is killed or its store file is moved away, and a repeated create stores no second animal.',
  method:
    '32 writers, each of whose requests must get a response or a closed connection. SIGKILL of the process, of the process while it commits or while commits take 20 ms, of the primary, of a worker, of all processes of PostgreSQL, of one of its sessions; or the file or its folder is moved away, and the service must end with one line. Restart; every create without a response is repeated; `verify` after each round.',
  unit: 'rounds',
  rounds: 200,
  quickRounds: 8,
  async run(options) {
    const half = Math.ceil(options.rounds / 2);
    const sqlite = await drillCrash({
      ...options,
      rounds: half,
      victims: ['process', 'writer', 'slow commit', 'primary', 'worker', 'file'],
    });
    const server = await PostgresServer.start({ isDurable: true });
    try {
      const postgres = await drillCrash({
        ...options,
        rounds: Math.max(1, options.rounds - half),
        victims: ['process', 'primary', 'worker', 'database', 'session'],
        server,
      });
      return mergeReports({ SQLite: sqlite, PostgreSQL: postgres });
    } finally {
      await server.close();
    }
  },
  control: {
    brokenBy: 'creates are acknowledged, and committed directly afterwards',
    finds: ['is lost'],
    run: (options) =>
      drillCrash({
        ...options,
        victims: ['slow commit'],
        nodeFlags: brokenBy('acknowledges-early'),
      }),
  },
};

export interface CrashOptions {
  rounds: number;
  seed: number;
  victims: readonly Victim[];
  /** A PostgreSQL, which is killed too. By default the drill uses the embedded store. */
  server?: PostgresServer;
  /** These break the service on purpose. */
  nodeFlags?: readonly string[];
  onProgress?: (text: string) => void;
}

/**
 * Kills a part of the service or of the database under 32 writers, starts what has ended, repeats every create
 * without a response, and compares what is stored with what was acknowledged.
 */
export async function drillCrash(options: CrashOptions): Promise<DrillReport> {
  using stolenTime = new StolenTime();
  await using folder = await disposableFolder();
  const crash = new CrashDrill(options, folder.path);
  try {
    for (let round = 1; round <= options.rounds; round += 1) await crash.runRound(round);
    return await crash.finish(stolenTime);
  } finally {
    await crash.service?.kill();
  }
}

class CrashDrill {
  service: ServiceProcess | undefined;
  readonly #options: CrashOptions;
  readonly #folder: string;
  readonly #random: Random;
  readonly #key = newSecret('production', randomBytes);
  readonly #starts: Timed[] = [];
  readonly #load: Load;
  #variant = '';
  #unanswered = 0;

  constructor(options: CrashOptions, folder: string) {
    this.#options = options;
    this.#folder = folder;
    this.#random = newRandom(options.seed);
    const baseUrl = () => this.service?.baseUrl ?? '';
    this.#load = new Load({ key: this.#key, baseUrl, mayRefuse: true, mayDisconnect: true });
  }

  async runRound(round: number): Promise<void> {
    const { victims, rounds, onProgress } = this.#options;
    const victim = victims[round % victims.length] ?? 'process';
    const service = await this.#start(victim);
    const load = this.#load;
    const { violations } = load;
    const before = violations.length;
    const known = load.creates.acknowledged.size;
    onProgress?.(
      `round ${round} of ${rounds}: ${victim}; ${known} acknowledged, ${before} violations`,
    );
    load.start(WRITERS);
    await load.untilAcknowledged(FIRST_CREATE_MS_MAX);
    await sleep(this.#random.integer(LOAD_MS_MAX));
    const workers = service.workerPids();
    await this.#kill(victim, service);
    if (ENDS_PROCESS.includes(victim)) {
      await load.stop();
      await requireEnd(workers, violations);
      this.service = undefined;
    } else {
      await sleep(LOAD_AFTER_MS);
      await load.stop();
    }
    const { baseUrl } = await this.#start(victim);
    const { open } = load.creates;
    this.#unanswered += open.size;
    await load.repeat(baseUrl, [...open, ...load.creates.sample(REPEATED, this.#random)]);
    await load.compare(baseUrl, { isAll: false });
    violations.push(...(await this.#verify()));
    for (let index = before; index < violations.length; index += 1) {
      violations[index] = `round ${round}, ${victim}: ${violations[index]}`;
    }
  }

  /** Compares the whole catalogue once more: a later crash must not lose what an earlier one left. */
  async finish(stolenTime: StolenTime): Promise<DrillReport> {
    const service = await this.#start('process');
    const load = this.#load;
    await load.compare(service.baseUrl);
    load.violations.push(...(await service.stop()), ...(await this.#verify()));
    // A start during which the host of this machine was busy shows nothing, nor does one of a short run, in
    // which another drill may run too.
    const { tookMs, share } = stolenTime.undisturbed(this.#starts);
    const late =
      this.#options.rounds < JUDGED_ROUNDS_MIN ? [] : tookMs.filter((ms) => ms > READY_MS_MAX);
    const { size } = load.creates.acknowledged;
    return {
      passed: size,
      violations: [...load.violations, ...late.map((ms) => `it took ${ms} ms to be ready`)],
      figures: {
        'creates acknowledged': size,
        'creates without a response, repeated': this.#unanswered,
        'ready after the start, median and slowest (ms)': `${median(tookMs)}, ${tookMs.at(-1) ?? 'not measured'}`,
        'share of the starts that the host did not disturb': share.toFixed(2),
      },
    };
  }

  /** Starts the service as the victim needs it, unless it runs like that. */
  async #start(victim: Victim): Promise<ServiceProcess> {
    const workers = WITH_WORKERS.includes(victim) ? '2' : '1';
    const slow = victim === 'slow commit' ? brokenBy('slow-commits') : [];
    const nodeFlags = [...slow, ...(this.#options.nodeFlags ?? [])];
    const variant = [workers, ...nodeFlags].join();
    if (this.service !== undefined && variant === this.#variant) return this.service;
    if (this.service !== undefined) this.#load.violations.push(...(await this.service.stop()));
    const sentMs = Date.now();
    this.service = await untilDatabase(() =>
      ServiceProcess.start({
        key: this.#key,
        data: this.#folder,
        database: this.#options.server?.url(),
        flags: ['--workers', workers, '--log', 'fatal'],
        nodeFlags,
      }),
    );
    this.#variant = variant;
    this.#starts.push({ sentMs, tookMs: Date.now() - sentMs });
    return this.service;
  }

  async #kill(victim: Victim, service: ServiceProcess): Promise<void> {
    switch (victim) {
      case 'process':
      case 'slow commit':
      case 'primary':
        return service.kill();
      case 'writer':
        await this.#untilLogWritten();
        return service.kill();
      case 'worker':
        process.kill(this.#random.pick(service.workerPids()), 'SIGKILL');
        return undefined;
      case 'file':
        return this.#loseFile(service);
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

  /** The service must acknowledge nothing more, and end by itself with one line. The file then comes back. */
  async #loseFile(service: ServiceProcess): Promise<void> {
    const load = this.#load;
    const moved = this.#random.isOneIn(2) ? this.#file : dirname(this.#file);
    const aside = join(this.#folder, 'aside');
    renameSync(moved, aside);
    const lostMs = performance.now();
    const code = await service.waitForEnd(FAIL_STOP_MS_MAX);
    await load.stop();
    if (code !== 1) load.violations.push(`without its file the service ended with ${code}`);
    const lines = service.countLogLines('"level":"fatal"');
    if (lines !== 1) load.violations.push(`the service wrote ${lines} lines about its end`);
    const late = load.acknowledgedMs.filter((sentMs) => sentMs > lostMs);
    if (late.length > 0) {
      load.violations.push(`${late.length} creates were acknowledged without the file`);
    }
    renameSync(aside, moved);
  }

  /** PostgreSQL ends all sessions when one of them is killed, and recovers. */
  async #killSession(): Promise<void> {
    const rows = await this.#options.server?.query(
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'petstore'`,
    );
    const [pid] = this.#random.pick(rows ?? [[]]);
    if (typeof pid === 'number') process.kill(pid, 'SIGKILL');
  }

  get #file(): string {
    return join(this.#folder, 'production', 'petstore.sqlite');
  }

  async #verify(): Promise<string[]> {
    const { server } = this.#options;
    const { problems } =
      server === undefined
        ? verifySqlite(this.#file)
        : await untilDatabase(() => verifyPostgres(server.url()));
    return problems.map((problem) => `verify: ${problem}`);
  }
}

/** On a busy machine PostgreSQL may not respond in time. A supervisor starts the service again. */
async function untilDatabase<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!NO_DATABASE.test(String(error)) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

async function requireEnd(pids: readonly number[], violations: string[]): Promise<void> {
  const untilMs = performance.now() + WORKERS_END_MS_MAX;
  while (pids.some(isRunning)) {
    if (performance.now() > untilMs) {
      violations.push('a worker outlived its primary by 12 s');
      return;
    }
    await sleep(POLL_MS);
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
