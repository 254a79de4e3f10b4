// What can fail, one entry for each. After the fault everything runs again, and the drill compares what is stored with
// what clients have seen.

import { closeSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { runHere, type Finished } from '../../harness/command.ts';
import { needs } from '../../harness/needs.ts';
import { PGBOUNCER_MISSING } from '../../harness/pgbouncer.ts';
import type { PostgresServer } from '../../harness/postgres-server.ts';
import type { Random } from '../../harness/random.ts';
import { canMount } from '../../harness/small-disk.ts';
import { brokenBy, brokenByBug } from '../broken/broken.ts';
import type { ServiceProcess } from '../../harness/service-process.ts';
import type { Deployment, Setup, StoreName } from './deployment.ts';
import {
  MOMENT_MS_MAX,
  NO_SUCH_ID,
  type Tolerance,
  type Workload,
  type WorkloadOptions,
} from './workload.ts';

const CONNECTING_MS = 50;
const END_MS_MAX = 60_000;
const REPLACEMENTS = 3;
const FULL_MS_MAX = 1_000;
const FREEZE_MS = 5_000;
const AWAY_MS_MAX = 1_000;
const CANCELLED_MS = 500;
/** Often enough to meet creates without a key, of which a few are under way at any moment. */
const LOSSES = 10;
/** About as long as it takes to replace workers. */
const REPLACED_MS_MAX = 1_500;
const NO_OTHER_WORKER = 'no other worker was started';
const OUTLIVED = 'a worker outlived its primary';
const NOT_STOPPED = 'a process did not stop';

export interface Fault {
  name: string;
  stores: readonly StoreName[];
  setup?: Omit<Setup, 'store'>;
  /** What may happen to a request meanwhile. */
  may: Tolerance;
  /** Whether a command could lose its database, and have changed animals or not. */
  losesCommands?: boolean;
  /** Of a full run. */
  rounds?: number;
  /** The deployment is not as before, so that each round has its own. */
  isLast?: boolean;
  /** Reads may have shown what is gone, and was never acknowledged. */
  showsMore?: boolean;
  /** What this machine lacks. */
  skip?: string | false;
  /** Resolves when everything runs again. Returns violations. */
  cause: (context: Context) => Promise<readonly string[] | void>;
  /** What the drill must notice, by what is broken. */
  controls: Readonly<Record<string, Break>>;
}

export interface Context {
  deployment: Deployment;
  workload: Workload;
  random: Random;
  /** Runs `petstore`. */
  runCommand: typeof runHere;
  /** Waits until it is true, and gives up after a long time. */
  until: (what: string, isTrue: () => boolean | Promise<boolean>) => Promise<void>;
}

/** How the service is broken on purpose, on one of the stores. */
export interface Break {
  store?: StoreName;
  nodeFlags?: readonly string[];
  runCommand?: WorkloadOptions['runCommand'];
  setup?: Partial<Setup>;
  /** Part of a violation. */
  finds: string;
}

const WORKERS = { processes: 1, flags: ['--workers', '2'] };
const BOTH = ['SQLite', 'PostgreSQL'] as const;
const WRONG_HISTORY = 'no order of the operations explains';
/** The service refuses a server that has lost animals (D43), and logs why. */
const REFUSES_SERVER = 'has lost animals';
const ACKNOWLEDGED_WITHOUT_FILE = 'a create was acknowledged without the file';

/** A bug of the list. */
function byBug(name: string, finds = WRONG_HISTORY, store?: StoreName): Record<string, Break> {
  return { [name]: { nodeFlags: brokenByBug(name), finds, ...(store && { store }) } };
}

function killed(
  when: string,
  stores: readonly StoreName[],
  { setup = {}, untilMoment }: KilledWhen = {},
): Fault {
  return {
    name: `a process is killed ${when}`,
    stores,
    setup,
    may: { loseResponse: true },
    async cause({ deployment, workload, random }) {
      const service = deployment.pickService(random);
      await workload.untilAnyMoment();
      await untilMoment?.(deployment);
      await service.kill();
      await deployment.replace(service);
    },
    controls: {
      'creates are acknowledged, and committed 20 ms later': {
        nodeFlags: [...brokenBy('slow-commits'), ...brokenBy('acknowledges-early')],
        finds: WRONG_HISTORY,
      },
    },
  };
}

interface KilledWhen {
  setup?: Fault['setup'];
  untilMoment?: (deployment: Deployment) => Promise<void>;
}

export const FAULTS: readonly Fault[] = [
  {
    name: 'many clients read, create and change the same animals through all processes',
    stores: BOTH,
    rounds: 500,
    may: {},
    cause: () => sleep(MOMENT_MS_MAX),
    controls: {
      ...byBug('the cache ignores the version of the store'),
      ...byBug('a read of the turn in which a create was acknowledged lacks it'),
      ...byBug('an animal is removed that somebody has changed meanwhile'),
      ...byBug('two clerks overwrite each other unseen on PostgreSQL', WRONG_HISTORY, 'PostgreSQL'),
      'commands report success and change nothing': {
        runCommand: changeNothing,
        finds: WRONG_HISTORY,
      },
    },
  },
  {
    name: 'clients close their connections before the response',
    stores: BOTH,
    rounds: 250,
    may: { beCut: true },
    cause: () => sleep(2 * MOMENT_MS_MAX),
    controls: byBug(
      'a create that is repeated after a lost response is a second animal',
      'was repeated as',
    ),
  },
  killed('at any moment', BOTH),
  killed('while it commits', ['SQLite'], {
    untilMoment: ({ file }) => untilLogWritten(file),
  }),
  killed('while each commit takes 20 ms', ['SQLite'], {
    setup: { nodeFlags: brokenBy('slow-commits') },
  }),
  {
    name: 'a worker is killed',
    stores: BOTH,
    setup: WORKERS,
    may: { beCut: true, loseResponse: true },
    async cause({ deployment, workload, random, until }) {
      const service = deployment.pickService(random);
      const before = workersOf(service);
      await workload.untilAnyMoment();
      const victim = random.pick(before);
      // Clients connect before the primary knows of the death.
      service.signal('SIGSTOP');
      await sleep(CONNECTING_MS);
      process.kill(victim, 'SIGKILL');
      service.signal('SIGCONT');
      await until(NO_OTHER_WORKER, () => {
        const now = workersOf(service);
        return now.length === before.length && !now.includes(victim);
      });
    },
    controls: byBug('a worker that has ended is not started again', NO_OTHER_WORKER),
  },
  {
    name: 'the primary of workers is killed',
    stores: BOTH,
    setup: WORKERS,
    may: { loseResponse: true },
    async cause({ deployment, workload, random, until }) {
      const service = deployment.pickService(random);
      const workers = workersOf(service);
      await workload.untilAnyMoment();
      await service.kill();
      await until(OUTLIVED, () => !workers.some(isRunning));
      await deployment.replace(service);
    },
    controls: {
      'workers that outlive their primary': {
        nodeFlags: brokenBy('outlives-its-primary'),
        finds: OUTLIVED,
      },
    },
  },
  {
    name: 'all workers are replaced, again and again',
    stores: BOTH,
    setup: { ...WORKERS, flags: [...WORKERS.flags, '--log', 'info'] },
    // No request fails.
    may: {},
    async cause({ deployment, random, until }) {
      const service = deployment.pickService(random);
      for (let count = 0; count < REPLACEMENTS; count += 1) {
        const before = service.restarts();
        service.signal('SIGHUP');
        await until('not all workers were replaced', () => service.restarts() > before);
      }
    },
    controls: {
      'workers that do not wait for their requests': {
        nodeFlags: brokenBy('stops-at-once'),
        finds: 'got no response',
      },
    },
  },
  {
    name: 'the service is stopped while its workers are replaced',
    stores: BOTH,
    setup: WORKERS,
    may: { loseResponse: true },
    async cause({ deployment, random, until }) {
      const service = deployment.pickService(random);
      const before = workersOf(service);
      service.signal('SIGHUP');
      // At any moment, or mostly while a new worker starts.
      if (random.isOneIn(4)) await sleep(random.integer(REPLACED_MS_MAX));
      else {
        await until('no worker was replaced', () =>
          workersOf(service).some((pid) => !before.includes(pid)),
        );
      }
      const workers = workersOf(service);
      service.signal('SIGTERM');
      await until(NOT_STOPPED, () => ![service.pid, ...workers].some(isRunning));
      await deployment.replace(service);
    },
    controls: byBug(
      'a stop within a rolling restart leaves a worker that serves for ever',
      NOT_STOPPED,
    ),
  },
  {
    name: 'the file of the store or its folder is moved away',
    stores: ['SQLite'],
    may: { loseResponse: true, beRefused: true },
    losesCommands: true,
    async cause({ deployment, workload, random }) {
      await workload.untilAcknowledged();
      const { file, folder, services } = deployment;
      const moved = random.isOneIn(2) ? file : dirname(file);
      renameSync(moved, join(folder, 'aside'));
      const lostMs = performance.now();
      const ends = await Promise.all(services.map((service) => service.waitForEnd(END_MS_MAX)));
      const lines = services.map((service) => service.countLogLines('"level":"fatal"'));
      const violations = workload.isAcknowledged(lostMs) ? [ACKNOWLEDGED_WITHOUT_FILE] : [];
      renameSync(join(folder, 'aside'), moved);
      await Promise.all(services.map((service) => deployment.replace(service)));
      if ([...ends, ...lines].every((each) => each === 1)) return violations;
      return [...violations, `ended with ${ends.join()} and ${lines.join()} lines about it`];
    },
    controls: byBug(
      'the place of the file is not checked after the commit',
      ACKNOWLEDGED_WITHOUT_FILE,
    ),
  },
  {
    name: 'the disk is full, and free again',
    stores: ['SQLite'],
    setup: { with: 'a small disk' },
    skip: needs('the right to mount a small disk', canMount()),
    may: { beRefused: true },
    losesCommands: true,
    async cause({ deployment, workload, random, until }) {
      await workload.untilAcknowledged();
      const filler = join(deployment.folder, 'filler');
      const { refused } = workload;
      fill(filler);
      const violations = await until(
        'no request was refused',
        () => workload.refused > refused,
      ).then(
        () => [],
        (error: unknown) => [String(error)],
      );
      await sleep(random.integer(FULL_MS_MAX));
      rmSync(filler);
      await workload.untilAcknowledged();
      return violations;
    },
    controls: {
      'commits that do not fit on the disk count as stored': {
        nodeFlags: brokenBy('ignores-full-disk'),
        finds: WRONG_HISTORY,
      },
    },
  },
  {
    name: 'PostgreSQL loses its responses, ends its sessions and gives no response for 5 seconds',
    stores: ['PostgreSQL'],
    setup: { with: 'a link' },
    may: { beRefused: true },
    losesCommands: true,
    async cause({ deployment: { link, postgres }, workload, random }) {
      // Only when sessions are in use: one that is still starting has sent nothing that could be lost.
      for (let count = 0; count < LOSSES; count += 1) {
        await workload.untilAcknowledged();
        link.loseResponses();
      }
      await workload.untilAcknowledged();
      await postgres.endSessions();
      await workload.untilAcknowledged();
      await killSession(postgres, random);
      await workload.untilAcknowledged();
      postgres.freeze();
      await sleep(FREEZE_MS);
      postgres.thaw();
      await workload.untilAcknowledged();
    },
    controls: byBug('a create is sent again although its outcome is unknown', ' has the ids '),
  },
  {
    name: 'PostgreSQL crashes, although it was configured not to wait for the disk',
    stores: ['PostgreSQL'],
    // The WAL writer writes so rarely that a crash loses every asynchronous commit.
    setup: {
      settings: { wal_writer_delay: '10s', wal_writer_flush_after: '1GB', autovacuum: 'off' },
    },
    may: { beRefused: true },
    losesCommands: true,
    async cause({ deployment: { postgres }, workload, random, until }) {
      await workload.untilAcknowledged();
      // While sessions are open, which use it from their next statement.
      await postgres.query('ALTER SYSTEM SET synchronous_commit = off');
      await postgres.query('SELECT pg_reload_conf()');
      await until('the setting has no effect', async () => {
        const [row] = await postgres.query('SHOW synchronous_commit');
        return row?.[0] === 'off';
      });
      await workload.untilAnyMoment();
      if (random.isOneIn(4)) await postgres.stop('immediate');
      else await postgres.kill();
      await postgres.start();
      await workload.untilAcknowledged();
      await postgres.query('ALTER SYSTEM RESET synchronous_commit');
      await postgres.query('SELECT pg_reload_conf()');
    },
    controls: byBug(
      'commits of PostgreSQL do not wait for the disk where that is configured',
      REFUSES_SERVER,
    ),
  },
  {
    name: 'the primary of PostgreSQL stops, and its synchronous standby is promoted',
    stores: ['PostgreSQL'],
    setup: { with: 'a standby' },
    isLast: true,
    may: { beRefused: true },
    losesCommands: true,
    async cause({ deployment: { postgres, standby }, workload, random }) {
      await workload.untilAnyMoment();
      const isAway = random.isOneIn(2);
      if (isAway) {
        await standby.stop('fast');
        await sleep(AWAY_MS_MAX);
      }
      await postgres.stop('immediate');
      if (isAway) await standby.start();
      await standby.query('SELECT pg_promote()');
      await workload.untilAcknowledged();
    },
    controls: {
      'commits that do not wait for the standby': {
        setup: { isAsynchronous: true },
        finds: REFUSES_SERVER,
      },
    },
  },
  {
    name: 'waits for a standby that is away are cancelled, and the standby is promoted',
    stores: ['PostgreSQL'],
    setup: { with: 'a standby' },
    isLast: true,
    showsMore: true,
    may: { beRefused: true, loseResponse: true },
    losesCommands: true,
    async cause({ deployment, workload, until }) {
      const { postgres, standby, services } = deployment;
      await workload.untilAcknowledged();
      await standby.stop('fast');
      await until('no commit waited for the standby', async () => {
        const rows = await postgres.query(
          `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
        );
        return rows.length > 0;
      });
      // Long enough for an acknowledgement.
      await sleep(CANCELLED_MS);
      await postgres.stop('immediate');
      await standby.start();
      await standby.query('SELECT pg_promote()');
      // What the primary alone has is on it for all to see, and is gone now. Nothing of it was acknowledged.
      workload.forgetReads();
      // A process that has read its counter refuses the standby (D43).
      await Promise.all(services.map((service) => service.kill()));
      await Promise.all(services.map((service) => deployment.replace(service)));
    },
    controls: byBug('the warning that a commit did not reach the standby is ignored'),
  },
  {
    name: 'the store is backed up, and the backup restored elsewhere',
    stores: ['SQLite'],
    may: {},
    async cause({ deployment, workload, runCommand }) {
      const { folder, file, storeFlags } = deployment;
      const [backup, elsewhere] = [join(folder, 'backup'), join(folder, 'elsewhere')];
      await workload.untilAnyMoment();
      const before = workload.creates.flatMap(({ pet }) => pet?.id ?? []);
      await succeed(runCommand, ['backup', backup, ...storeFlags]);
      const restore = ['restore', backup, '--ids-above', NO_SUCH_ID.slice(1), '--data', elsewhere];
      await succeed(runCommand, restore);
      await succeed(runCommand, ['verify', '--data', elsewhere]);
      const restored = idsIn(join(elsewhere, 'production', 'petstore.sqlite'));
      // What is there still was there all the time.
      const missing = new Set(before).intersection(idsIn(file)).difference(restored);
      for (const path of [backup, elsewhere]) rmSync(path, { recursive: true });
      return [...missing].map((id) => `${id} is not in the backup`);
    },
    controls: {
      'a backup is from a moment before': {
        runCommand: backUpEarlier,
        finds: 'is not in the backup',
      },
    },
  },
  {
    name: 'PgBouncer in session mode dies',
    stores: ['PostgreSQL'],
    setup: { with: 'PgBouncer' },
    skip: PGBOUNCER_MISSING,
    may: { beRefused: true },
    losesCommands: true,
    async cause({ deployment, workload, random }) {
      await workload.untilAnyMoment();
      await deployment.restartPooler(random.integer(AWAY_MS_MAX));
      await workload.untilAcknowledged();
    },
    controls: {
      'one create in twenty is acknowledged and not stored': {
        nodeFlags: brokenBy('forgets-creates'),
        finds: WRONG_HISTORY,
      },
    },
  },
];

/** A command that names an id that does not exist must still be refused. */
async function changeNothing(args: readonly string[]): Promise<Finished> {
  return { code: args.includes(NO_SUCH_ID) ? 1 : 0, stdout: '', stderr: '' };
}

/** A backup from a moment before. */
async function backUpEarlier(args: readonly string[]): Promise<Finished> {
  const finished = await runHere(args);
  if (args[0] !== 'backup') return finished;
  using database = new DatabaseSync(args[1] ?? '');
  database.exec('DELETE FROM pets WHERE id > (SELECT max(id) - 20 FROM pets)');
  return finished;
}

async function succeed(runCommand: typeof runHere, args: readonly string[]): Promise<void> {
  const { code, stderr } = await runCommand(args);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
}

function idsIn(file: string): Set<number> {
  using database = new DatabaseSync(file, { readOnly: true });
  return new Set(
    database
      .prepare('SELECT id FROM pets')
      .all()
      .map(({ id }) => Number(id)),
  );
}

/** Its workers, or none if it has ended. */
const workersOf = (service: ServiceProcess) => (isRunning(service.pid) ? service.workerPids() : []);

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Resolves as soon as the log of the store changes: the commit is written, but not yet acknowledged. */
async function untilLogWritten(file: string): Promise<void> {
  const changedNs = () => statSync(`${file}-wal`, { bigint: true, throwIfNoEntry: false })?.mtimeNs;
  const beforeNs = changedNs();
  while (changedNs() === beforeNs) await setImmediate();
}

/** Writes a file until nothing more fits. */
function fill(file: string): void {
  const descriptor = openSync(file, 'w');
  for (const bytes of [1024 * 1024, 4096, 1]) {
    const chunk = Buffer.alloc(bytes, 1);
    try {
      for (;;) writeSync(descriptor, chunk);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
  closeSync(descriptor);
}

/** PostgreSQL ends all sessions when one of them is killed, and recovers. */
async function killSession(postgres: PostgresServer, random: Random): Promise<void> {
  const rows = await postgres.query(
    `SELECT pid FROM pg_stat_activity WHERE application_name = 'petstore'`,
  );
  const [pid] = random.pick(rows.length === 0 ? [[]] : rows);
  if (typeof pid === 'number') process.kill(pid, 'SIGKILL');
}
