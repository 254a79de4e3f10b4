import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { needsProgram, NEEDS_LINUX } from '../../harness/needs.ts';
import { MAIN } from '../../harness/command.ts';
import type { ServiceProcess } from '../../harness/service-process.ts';

const SOURCE = fileURLToPath(new URL('recorder.c', import.meta.url));
/** The time that a sync takes. It decides how many creates share a commit. */
const SYNC_US = 1_000;
/** Without an event for this long, every process waits for a sync or for a request. */
const QUIET_MS = 100;
const QUIET_CHECKS_MAX = 20;
const END_MS_MAX = 10_000;

/** As `recorder.c` numbers them. */
const KINDS = [
  'create',
  'mkdir',
  'write',
  'truncate',
  'sync begin',
  'sync end',
  'unlink',
  'rename',
  'link',
  'output',
  'sync failed',
] as const;
const HEAD_BYTES = 40;

/** One event of one process. The order of the events is the same for all processes. */
export interface RecordedEvent {
  kind: (typeof KINDS)[number];
  pid: number;
  /** The inode number of the file, or 0 for a folder. */
  file: number;
  /** Of a write; the size of a truncation; the number of a sync within its process. */
  offset: number;
  fd: number;
  /** Relative to the recorded folder. `path2` is the new name of a rename or a link. */
  path: string;
  path2: string;
  data: Buffer;
}

/** Why nothing can be recorded on this machine. */
export function findMissingTool(): string | false {
  return NEEDS_LINUX || needsProgram('cc') || needsProgram('flock');
}

/** Runs commands of the service, and records what they do with the files below `root`. */
export class Recorder {
  /** The recorded folder. It exists before the first event. */
  readonly root: string;
  readonly #log: string;
  readonly #lock: string;
  /** While this file exists, every sync waits. */
  readonly #hold: string;
  /** While this file exists, every sync of a log fails. */
  readonly #fail: string;
  readonly env: Readonly<Record<string, string>>;
  readonly nodeFlags: readonly string[];

  /** Compiles the library into `folder`. */
  constructor(folder: string, root: string, nodeFlags: readonly string[]) {
    const library = join(folder, 'recorder.so');
    const compiled = spawnSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, SOURCE, '-ldl']);
    if (compiled.status !== 0) throw new Error(`recorder.c: ${String(compiled.stderr)}`);
    this.root = root;
    this.#log = join(folder, 'events.log');
    this.#lock = join(folder, 'events.lock');
    this.#hold = join(folder, 'hold-syncs');
    this.#fail = join(folder, 'fail-syncs');
    this.nodeFlags = nodeFlags;
    this.env = {
      LD_PRELOAD: library,
      RECORD_ROOT: root,
      RECORD_LOG: this.#log,
      RECORD_LOCK: this.#lock,
      RECORD_HOLD: this.#hold,
      RECORD_FAIL: this.#fail,
      RECORD_SYNC_US: String(SYNC_US),
    };
  }

  /** Runs `petstore` with these arguments until it ends. */
  async run(...args: string[]): Promise<{ pid: number; stdout: string }> {
    const options = { env: { ...this.env } };
    const running = promisify(execFile)(
      process.execPath,
      [...this.nodeFlags, MAIN, ...args],
      options,
    );
    const { pid = 0 } = running.child;
    const { stdout } = await running;
    return { pid, stdout };
  }

  /** Kills a process during a sync. Something must be writing. */
  async killDuringSync(service: ServiceProcess): Promise<void> {
    writeFileSync(this.#hold, '');
    // A service that does not sync its commits, as in the control, is not quiet.
    for (let [before, checks] = [-1, 0]; checks < QUIET_CHECKS_MAX; checks += 1) {
      const { size } = statSync(this.#log);
      if (size === before) break;
      before = size;
      await sleep(QUIET_MS);
    }
    await this.#kill(service);
    rmSync(this.#hold);
  }

  /** Kills a process after its disk has failed to sync what `write` does. */
  async killAfterFailedSync(service: ServiceProcess, write: () => Promise<void>): Promise<void> {
    writeFileSync(this.#fail, '');
    await write();
    await this.#kill(service);
    rmSync(this.#fail);
  }

  /** Between two events, so that the log has exactly what happened. */
  async #kill(service: ServiceProcess): Promise<void> {
    await promisify(execFile)('flock', [this.#lock, 'kill', '-9', String(service.pid)]);
    await service.waitForEnd(END_MS_MAX);
  }

  read(): RecordedEvent[] {
    const log = readFileSync(this.#log);
    const events: RecordedEvent[] = [];
    let at = 0;
    const take = (bytes: number) => log.subarray(at, (at += bytes));
    while (at < log.length) {
      const head = take(HEAD_BYTES);
      const kind = KINDS[head.readUInt32LE(0) - 1];
      if (kind === undefined) throw new Error('the log of events cannot be read');
      events.push({
        kind,
        pid: head.readUInt32LE(4),
        file: Number(head.readBigUInt64LE(8)),
        offset: Number(head.readBigInt64LE(16)),
        fd: head.readUInt32LE(24),
        path: take(head.readUInt32LE(28)).toString(),
        path2: take(head.readUInt32LE(32)).toString(),
        data: take(head.readUInt32LE(36)),
      });
    }
    return events;
  }
}
