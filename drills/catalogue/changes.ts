import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { newCursor } from '../../src/domain/page.ts';
import { PET_STATUSES, type PetStatus } from '../../src/domain/pet.ts';
import { MAIN } from '../../harness/command.ts';
import { Client, followList } from '../../harness/client.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { newRandom, type Random } from '../../harness/random.ts';
import { disposableFolder } from '../../harness/temporary-folder.ts';
import { Animals, isListed, isStillTrue } from './animals.ts';

/** Created before the first command. */
const FIRST_ANIMALS = 50;
/** A walk takes many reads: without a pause, the walks would take most of the time. */
const WALK_PAUSE_MS = 100;
const POLL_MS = 10;
const ATTEMPTS_MAX = 20;
/** One command in so many removes, and one in so many names an id that does not exist. */
const REMOVE_EVERY = 4;
const MISSING_EVERY = 5;
/** On a busy machine the store may not respond in time. Nothing was changed then. */
const NOTHING_CHANGED = /gives no response in time|database is locked/;
const COMMAND_ATTEMPTS_MAX = 10;
export const NO_SUCH_ID = '9223372036854775807';

export type ChangesReport = ChangesDrill['report'];

export interface ChangesOptions {
  commands: number;
  seed: number;
  processes: number;
  readers: number;
  creators: number;
  /** The URL of a PostgreSQL database. By default the drill uses the embedded store. */
  database?: string | undefined;
  /** The program of an older version, which is started first and serves the same store. */
  olderMain?: string | undefined;
  /** By default a process of `petstore catalogue`. The control of the drill changes nothing. */
  runCommand?: typeof runCatalogue;
  onProgress?: (report: ChangesReport) => void;
}

/**
 * `petstore catalogue` as a process of its own, on a store that several processes serve under load. After a
 * command has returned, every read that is sent must show the change; no id is given twice; and a walk meets
 * every animal that does not change once.
 */
export async function drillChanges(options: ChangesOptions): Promise<ChangesReport> {
  const key = newSecret('production', randomBytes);
  await using data = await disposableFolder();
  const drill = new ChangesDrill(options, key, data.path);
  try {
    await drill.run();
  } finally {
    drill.report.violations.push(...(await drill.stop()), ...drill.animals.violations);
  }
  return drill.report;
}

class ChangesDrill {
  readonly animals: Animals;
  readonly report = {
    commands: 0,
    animalsChanged: 0,
    creates: 0,
    /** Reads of an animal that no command was changing: each had one right response. */
    checkedReads: 0,
    walks: 0,
    violations: [] as string[],
  };
  readonly #options: ChangesOptions;
  readonly #key: string;
  readonly #data: string;
  readonly #random: Random;
  readonly #services: ServiceProcess[] = [];
  #isOver = false;

  constructor(options: ChangesOptions, key: string, data: string) {
    this.#options = options;
    this.#key = key;
    this.#data = data;
    this.#random = newRandom(options.seed);
    this.animals = new Animals(this.#random);
  }

  async run(): Promise<void> {
    const { commands, processes, readers, creators, olderMain, onProgress } = this.#options;
    await this.#startService(olderMain);
    const load = [this.#many(creators, (client) => this.#create(client))];
    try {
      // An older version is in use while a newer one migrates the store.
      while (this.#services.length < processes) await this.#startService();
      while (this.animals.all.length < FIRST_ANIMALS) await sleep(POLL_MS);
      load.push(this.#many(readers, (client) => this.#read(client)));
      for (const status of [undefined, ...PET_STATUSES]) {
        load.push(this.#many(1, (client) => this.#walk(client, status)));
      }
      // On a busy machine a few commands may be faster than the first walk.
      while (this.report.commands < commands || this.report.walks === 0) {
        await this.#command();
        onProgress?.(this.report);
      }
    } finally {
      this.#isOver = true;
      await Promise.all(load);
    }
  }

  async stop(): Promise<string[]> {
    return (await Promise.all(this.#services.map((service) => service.stop()))).flat();
  }

  async #startService(main?: string): Promise<void> {
    const { database } = this.#options;
    const service = { data: this.#data, database, key: this.#key, main };
    this.#services.push(await ServiceProcess.start(service));
  }

  /** So many clients, each doing this again and again until the last command has returned. */
  async #many(count: number, work: (client: Client) => Promise<void>): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, async () => {
        const client = new Client(this.#key);
        while (!this.#isOver) await work(client);
        client.close();
      }),
    );
  }

  get #baseUrl(): string {
    return this.#random.pick(this.#services).baseUrl;
  }

  /** Sends a request, and sends it again while the service refuses it because the machine is too busy. */
  async #send<Response extends { status: number }>(
    send: () => Promise<Response>,
  ): Promise<Response> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await send();
      if (response.status !== 503 || attempt === ATTEMPTS_MAX) return response;
    }
  }

  #violation(what: string): void {
    this.report.violations.push(what);
  }

  async #create(client: Client): Promise<void> {
    const name = `animal-${(this.report.creates += 1)}`;
    const { status, body } = await this.#send(() =>
      client.create(this.#baseUrl, name, { isClaimed: true }),
    );
    if (status === 201) this.animals.add(body);
    else this.#violation(`${name} got ${status} ${body}`);
  }

  async #read(client: Client): Promise<void> {
    const glimpse = this.animals.glance();
    if (glimpse === undefined) {
      await sleep(1);
      return;
    }
    const { id } = glimpse.animal;
    const filter = this.#random.pick([undefined, ...PET_STATUSES]);
    const isGet = this.#random.isOneIn(3);
    const target = isGet ? `/pets/${id}` : pageOf(id, filter);
    const response = await this.#send(() => client.get(this.#baseUrl + target));
    if (!isStillTrue(glimpse)) return;
    this.report.checkedReads += 1;
    const shown = isGet ? shownAlone(response) : shownInPage(response, id);
    const isExpected = isGet || filter === undefined || filter === glimpse.status;
    const expected = isExpected ? glimpse.status : undefined;
    if (shown === expected) return;
    this.#violation(`stale: ${target} shows ${String(shown)} and not ${String(expected)}`);
  }

  /** Follows the list to its end. An animal that changes meanwhile may be met or not, but not twice. */
  async #walk(client: Client, status: PetStatus | undefined): Promise<void> {
    await sleep(WALK_PAUSE_MS);
    const before = this.animals.glanceAll();
    const get = (target: string) => this.#send(() => client.get(this.#baseUrl + target));
    const met: number[] = [];
    const filter = status === undefined ? '' : `&status=${status}`;
    for await (const page of followList(get, `/pets?limit=100${filter}`)) {
      if (this.#isOver) return;
      met.push(...page.map(({ id }) => id));
    }
    this.report.walks += 1;
    met.reduce((last, id) => {
      if (id <= last) this.#violation(`a walk met ${id} after ${last}`);
      return id;
    }, 0);
    const ids = new Set(met);
    for (const glimpse of before.filter(isStillTrue)) {
      if (ids.has(glimpse.animal.id) === isListed(glimpse, status)) continue;
      this.#violation(`a walk of ${status ?? 'all'} was wrong about ${glimpse.animal.id}`);
    }
  }

  async #command(): Promise<void> {
    const number = this.report.commands;
    this.report.commands += 1;
    const isRemoval = number % REMOVE_EVERY === REMOVE_EVERY - 1;
    const isRefused = number % MISSING_EVERY === MISSING_EVERY - 1;
    const status = isRemoval ? undefined : this.#random.pick(PET_STATUSES);
    const verb = status === undefined ? ['remove', '--yes'] : ['set-status', '--to', status];
    const animals = this.animals.choose(1 + this.#random.integer(20));
    const ids = animals.map(({ id }) => String(id));
    const { runCommand = runCatalogue, database } = this.#options;
    const run = async () => {
      const all = isRefused ? [...ids, NO_SUCH_ID] : ids;
      const store = database === undefined ? ['--data', this.#data] : ['--database', database];
      const { code, said } = await runCommand([...verb, ...store], all);
      if (code !== (isRefused ? 1 : 0)) {
        this.#violation(`${verb.join(' ')} ended with ${code}: ${said}`);
      }
      return code === 0;
    };
    if (isRefused) {
      // Nothing may change, so every read is checked all the while.
      await run();
    } else {
      await this.animals.change(animals, status, run);
      this.report.animalsChanged += animals.length;
    }
  }
}

/** Runs `petstore catalogue` as a process of its own, with these ids on its standard input. */
async function runCatalogue(
  args: string[],
  ids: string[],
): Promise<{ code: number; said: string }> {
  for (let attempt = 1; ; attempt += 1) {
    const result = await runOnce(args, ids);
    if (attempt === COMMAND_ATTEMPTS_MAX || !NOTHING_CHANGED.test(result.said)) return result;
  }
}

async function runOnce(args: string[], ids: string[]): Promise<{ code: number; said: string }> {
  const child = spawn(process.execPath, [MAIN, 'catalogue', ...args, '--from-file', '-'], {
    env: {},
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  child.stdin.end(ids.join('\n'));
  const ended = once(child, 'exit') as Promise<[number]>;
  const said = await text(child.stderr);
  const [code] = await ended;
  return { code, said };
}

/** The page that begins with this animal, if it is there and of this status. */
function pageOf(id: number, status: PetStatus | undefined): string {
  const filter = status === undefined ? '' : `&status=${status}`;
  return `/pets?limit=1${filter}&cursor=${newCursor(BigInt(id) - 1n, status)}`;
}

function shownAlone({ status, body }: { status: number; body: string }): string | undefined {
  if (status === 404) return undefined;
  return (JSON.parse(body) as { status: string }).status;
}

function shownInPage({ body }: { body: string }, id: number): string | undefined {
  const [first] = JSON.parse(body) as { id: number; status: string }[];
  return first?.id === id ? first.status : undefined;
}
