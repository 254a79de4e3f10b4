// node bench/memory-limits.ts: the memory of each way to start the service, and whether it works in less: the figures of
// "Memory" in docs/running.md. As root, on Linux; about four minutes.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../src/domain/api-key.ts';
import { Load } from '../harness/load.ts';
import { ServiceProcess } from '../harness/service-process.ts';
import { disposableFolder } from '../harness/temporary-folder.ts';
import { familyOf } from './processes.ts';

const ROOT = dirname(import.meta.dirname);
const MEBIBYTE = 1024 * 1024;
const LIMITS_MIB = [256, 128];
const STAGE_MS = 6_000;
const SAMPLE_MS = 100;
const CLIENTS = 32;
/** Fewer than those at which idle connections make room for others. */
const CONNECTIONS = 8_000;
const SHOWN_CONNECTIONS = 10_000;
/** Of 60,000 bytes each: more than the service keeps. */
const BODIES = 1_500;
const CGROUPS = '/sys/fs/cgroup/memory';

type Command = readonly [string, ...string[]];
interface Start {
  shown: string;
  command: Command;
  flags?: readonly string[];
}

const STARTS: Start[] = [
  // The first argument is `serve`, which the script has already.
  { shown: 'npm start', command: ['sh', '-c', 'shift; exec npm start --silent -- "$@"', 'sh'] },
  { shown: 'node bin/petstore.js serve', command: [process.execPath, 'bin/petstore.js'] },
  {
    shown: 'node bin/petstore.js serve --workers 2',
    command: [process.execPath, 'bin/petstore.js'],
    flags: ['--workers', '2'],
  },
];

interface Stage {
  name: string;
  run: (service: ServiceProcess) => Promise<void>;
}

const STAGES: Stage[] = [
  { name: 'idle', run: () => sleep(STAGE_MS / 2) },
  { name: 'load', run: underLoad },
  { name: 'bodies', run: (service) => withAttackers(service, 'long bodies', BODIES) },
  {
    name: `${CONNECTIONS.toLocaleString('en')} connections`,
    run: (service) => withAttackers(service, 'idle', CONNECTIONS),
  },
];

async function underLoad({ key, baseUrl }: ServiceProcess): Promise<void> {
  const load = new Load({ key, baseUrl: () => baseUrl, createEvery: 10, mayDisconnect: true });
  load.start(CLIENTS);
  await sleep(STAGE_MS);
  await load.stop();
  if (load.violations.length > 0) throw new Error(load.violations[0]);
}

async function withAttackers(service: ServiceProcess, attack: string, count: number) {
  const script = join(ROOT, 'harness/attackers.ts');
  const child = spawn(
    process.execPath,
    [script, attack, String(service.port), String(count), service.key],
    { stdio: ['pipe', 'pipe', 'ignore'] },
  );
  const ended = once(child, 'exit');
  const isConnected = await Promise.race([
    once(child.stdout, 'data').then(() => true),
    ended.then(() => false),
  ]);
  // They end where the service does.
  if (!isConnected) return;
  child.stdin.write('\n');
  await sleep(STAGE_MS / 2);
  child.kill('SIGKILL');
  await ended;
}

/** Memory that processes share, such as the program itself, is counted once. */
function memoryMib(pids: readonly number[]): number {
  const each = pids.map((pid) => {
    try {
      const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
      return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1]) / 1024;
    } catch {
      return 0;
    }
  });
  return each.reduce((sum, one) => sum + one, 0);
}

/** Runs one stage on a new service. Returns the most memory during it, or undefined if a process was killed. */
async function measure(start: Start, stage: Stage, limit?: Limit): Promise<number | undefined> {
  await using folder = await disposableFolder();
  const key = newSecret('production', randomBytes);
  const flags = ['--log', 'silent', '--data', folder.path, ...(start.flags ?? [])];
  const service = await ServiceProcess.run(flags, {
    command: limit?.command(start.command) ?? start.command,
    env: { PETSTORE_BOOTSTRAP_KEY: key },
    key,
    cwd: ROOT,
  });
  // npm and its shell, and the workers, are below it.
  const pids = familyOf(service.pid);
  let peak = 0;
  const sampler = setInterval(() => (peak = Math.max(peak, memoryMib(pids))), SAMPLE_MS);
  const survived = await stage.run(service).then(
    () => familyOf(service.pid).join() === pids.join(),
    () => false,
  );
  clearInterval(sampler);
  for (const pid of familyOf(service.pid).toReversed()) process.kill(pid, 'SIGTERM');
  await service.waitForEnd(STAGE_MS * 2);
  return survived ? peak : undefined;
}

/** A cgroup with little memory and no swap. */
class Limit implements AsyncDisposable {
  readonly #folder: string | undefined;
  readonly #mib: number;

  constructor(mib: number) {
    this.#mib = mib;
    if (!existsSync(CGROUPS)) return;
    const own = /^\d+:memory:(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '';
    this.#folder = join(CGROUPS, own, `petstore-${process.pid}-${mib}`);
    mkdirSync(this.#folder);
    writeFileSync(join(this.#folder, 'memory.limit_in_bytes'), String(mib * MEBIBYTE));
    writeFileSync(join(this.#folder, 'memory.swappiness'), '0');
  }

  static readonly shown = existsSync(CGROUPS)
    ? '`memory.limit_in_bytes` of cgroup v1'
    : '`memory.max` of cgroup v2';

  command(command: Command): Command {
    if (this.#folder === undefined) {
      const properties = ['-p', `MemoryMax=${this.#mib}M`, '-p', 'MemorySwapMax=0'];
      return ['systemd-run', '--scope', '--quiet', ...properties, ...command];
    }
    const enter = `echo $$ > ${this.#folder}/cgroup.procs && exec "$@"`;
    return ['sh', '-c', enter, 'sh', ...command];
  }

  /** The service may end later than the npm that has started it. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#folder === undefined) return;
    const processes = join(this.#folder, 'cgroup.procs');
    while (readFileSync(processes, 'utf8') !== '') await sleep(SAMPLE_MS);
    rmdirSync(this.#folder);
  }
}

async function rowOf(start: Start): Promise<string> {
  const peaks: number[] = [];
  for (const stage of STAGES) {
    const peak = await measure(start, stage);
    if (peak === undefined) throw new Error(`${start.shown} did not survive: ${stage.name}`);
    peaks.push(peak);
  }
  const [idle = 0, load = 0, bodies = 0, connections = 0] = peaks;
  const perConnections = ((connections - idle) / CONNECTIONS) * SHOWN_CONNECTIONS;
  const figures = [idle, load, bodies, perConnections].map((mib) => `${Math.round(mib)} MiB`);
  figures[3] = `+ ${figures[3]}`;
  for (const mib of LIMITS_MIB) figures.push(await verdict(start, mib));
  return `| \`${start.shown}\` | ${figures.join(' | ')} |`;
}

/** Whether the service works in so much memory. */
async function verdict(start: Start, mib: number): Promise<string> {
  const killedBy: string[] = [];
  for (const stage of STAGES.slice(1)) {
    await using limit = new Limit(mib);
    if ((await measure(start, stage, limit)) === undefined) killedBy.push(stage.name);
  }
  return killedBy.length === 0 ? 'works' : `killed by ${killedBy.join(', ')}`;
}

const table = [
  `| Start | idle | ${CLIENTS} clients, 10 % creates | unfinished bodies, to their limit | per 10,000 connections | in 256 MiB | in 128 MiB |`,
  '|---|---|---|---|---|---|---|',
];
for (const start of STARTS) table.push(await rowOf(start));
process.stdout.write(`${table.join('\n')}

All processes together (Pss), each stage on a new service, Node.js ${process.versions.node}, ${process.platform} ${process.arch}. The last two columns repeat the load, the
bodies and ${CONNECTIONS.toLocaleString('en')} connections within that much memory (${Limit.shown}).
`);
