import { PostgresServer } from '../../harness/postgres-server.ts';
import { ServiceProcess, type ServiceOptions } from '../../harness/service-process.ts';
import type { Random } from '../../harness/random.ts';
import { disposableFolder, type DisposableFolder } from '../../harness/temporary-folder.ts';

export type StoreName = 'SQLite' | 'PostgreSQL';
export type Fault =
  | 'none'
  | 'a connection of a client is cut'
  | 'a process is killed'
  | 'the connections to PostgreSQL are cut'
  | 'PostgreSQL is restarted';

const PROCESSES: Record<StoreName, number> = { SQLite: 2, PostgreSQL: 3 };

/** Each fault as often as it is here. */
const FAULTS: Record<StoreName, readonly Fault[]> = {
  SQLite: [
    ...Array<Fault>(5).fill('none'),
    ...Array<Fault>(3).fill('a connection of a client is cut'),
    ...Array<Fault>(2).fill('a process is killed'),
  ],
  PostgreSQL: [
    ...Array<Fault>(9).fill('none'),
    ...Array<Fault>(5).fill('a connection of a client is cut'),
    ...Array<Fault>(3).fill('a process is killed'),
    ...Array<Fault>(2).fill('the connections to PostgreSQL are cut'),
    'PostgreSQL is restarted',
  ],
};

/** Several processes of the service on one store. */
export class Processes {
  readonly #store: StoreName;
  readonly #folder: DisposableFolder;
  readonly #database: PostgresServer | undefined;
  readonly #options: ServiceOptions;
  #services: ServiceProcess[] = [];

  private constructor(
    store: StoreName,
    folder: DisposableFolder,
    database: PostgresServer | undefined,
    options: ServiceOptions,
  ) {
    this.#store = store;
    this.#folder = folder;
    this.#database = database;
    this.#options = { ...options, data: folder.path, database: database?.url() };
  }

  static async open(
    store: StoreName,
    options: { key: string; nodeFlags?: readonly string[] | undefined },
  ): Promise<Processes> {
    const database = store === 'PostgreSQL' ? await PostgresServer.start() : undefined;
    const processes = new Processes(store, await disposableFolder(), database, options);
    const starts = Array.from({ length: PROCESSES[store] }, () => processes.#start());
    processes.#services = await Promise.all(starts);
    return processes;
  }

  #start(): Promise<ServiceProcess> {
    return ServiceProcess.start(this.#options);
  }

  /** The flags with which a command finds the store. */
  get storeFlags(): string[] {
    return this.#database === undefined
      ? ['--data', this.#folder.path]
      : ['--database', this.#database.url()];
  }

  pickUrl(random: Random): string {
    return random.pick(this.#services).baseUrl;
  }

  pickFault(random: Random): Fault {
    return random.pick(FAULTS[this.#store]);
  }

  /** Resolves when everything runs again. */
  async cause(fault: Fault, random: Random): Promise<void> {
    if (fault === 'a process is killed') {
      const index = random.integer(PROCESSES[this.#store]);
      this.#services[index]?.signal('SIGKILL');
      this.#services[index] = await this.#start();
    } else if (fault === 'the connections to PostgreSQL are cut') {
      await this.#database?.endSessions();
    } else if (fault === 'PostgreSQL is restarted') {
      await this.#database?.stop(random.pick(['fast', 'immediate']));
      await this.#database?.start();
    }
  }

  /** Returns the violations of the processes, which must all still run. */
  async close(): Promise<string[]> {
    const ends = await Promise.all(this.#services.map((service) => service.stop()));
    await this.#database?.close();
    await this.#folder[Symbol.asyncDispose]();
    return ends.flat();
  }
}
