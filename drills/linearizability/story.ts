import { setTimeout as sleep } from 'node:timers/promises';
import { newCursor } from '../../src/domain/page.ts';
import { PET_STATUSES, type PetStatus } from '../../src/domain/pet.ts';
import {
  Client,
  nextTarget,
  type ClientRequest,
  type ClientResponse,
  type WirePet,
} from '../../harness/client.ts';
import type { runHere } from '../../harness/command.ts';
import type { Random } from '../../harness/random.ts';
import type { CommandRecord, CreateRecord, Observation, ReadRecord } from './checker.ts';
import type { Fault, Processes } from './processes.ts';

const CLIENTS = 6;
const OPERATIONS_PER_CLIENT = 6;
/** Late enough that there are animals, and early enough that the same client reads afterwards. */
const COMMAND_AT = 3;
const CUT_AFTER_MS_MAX = 6;
const FAULT_AFTER_MS_MAX = 15;
const RETRY_MS = 50;
const RETRIES_MAX = 600;
const IDS_PER_COMMAND_MAX = 5;
export const NO_SUCH_ID = '9223372036854775807';
/** On a busy machine the store may not respond in time. Nothing was changed then. */
const NOTHING_CHANGED = /gives no response in time|database is locked/;

export interface Story {
  creates: CreateRecord[];
  commands: CommandRecord[];
  reads: ReadRecord[];
  /** Responses other than those of the interface's success, such as 503, and connections without a response. */
  failures: number;
  violations: string[];
}

export interface StoryOptions {
  processes: Processes;
  random: Random;
  key: string;
  /** Begins the names of the animals, so that no two stories share one. */
  name: string;
  /** The highest id before the story. All of its lists begin after it. */
  afterId: number;
  fault: Fault;
  /** Runs `petstore`, in this process or not. */
  runCommand: typeof runHere;
}

/** A response, with the times of its request. */
interface Response extends ClientResponse {
  startMs: number;
  endMs: number;
}

type List = Omit<Extract<Observation, { kind: 'list' }>, 'pets' | 'hasNext'>;

/** Some clients create, read and run commands at the same time, through all processes, while a fault happens. */
export async function tellStory(options: StoryOptions): Promise<Story> {
  const { processes, random, fault } = options;
  const teller = new Teller(options);
  // One client runs a command, so that commands run one after the other.
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    teller.runClient(index === 0 ? COMMAND_AT : undefined),
  );
  if (fault !== 'none') {
    await sleep(random.integer(FAULT_AFTER_MS_MAX));
    await processes.cause(fault, random);
  }
  await Promise.all(clients);
  await teller.readAll();
  return teller.story;
}

class Teller {
  readonly story: Story = { creates: [], commands: [], reads: [], failures: 0, violations: [] };
  readonly #options: StoryOptions;
  /** By target: what a client can revalidate with `If-None-Match`. */
  readonly #known = new Map<string, Pick<Response, 'etag' | 'body' | 'link'>>();
  /** The pages that `rel="next"` links lead to. */
  readonly #nextPages: { target: string; list: List }[] = [];
  #highestId: number;

  constructor(options: StoryOptions) {
    this.#options = options;
    this.#highestId = options.afterId;
  }

  /** The number of the operation that is a command, if there is one. */
  async runClient(commandAt: number | undefined): Promise<void> {
    const { random } = this.#options;
    const client = new Client(this.#options.key);
    for (let count = 0; count < OPERATIONS_PER_CLIENT; count += 1) {
      const choice = random.integer(20);
      if (count === commandAt) await this.#command();
      else if (choice < 9) await this.#create(client);
      else if (choice < 12) await this.#get(client);
      else await this.#list(client);
    }
    client.close();
  }

  /** The last read of a story shows which of the creates without a response have happened. */
  async readAll(): Promise<void> {
    const client = new Client(this.#options.key);
    const list: List = {
      kind: 'list',
      afterId: this.#options.afterId,
      status: undefined,
      limit: 100,
    };
    for (let tries = 0; ; tries += 1) {
      if (await this.#read(client, this.#targetOf(list), (response) => pageOf(list, response)))
        break;
      if (tries === RETRIES_MAX) throw new Error('the service did not recover within 30 s');
      await sleep(RETRY_MS);
    }
    client.close();
  }

  async #create(client: Client): Promise<void> {
    const { random, name: prefix, processes } = this.#options;
    const name = `${prefix}-${this.story.creates.length}`;
    const status = random.pick(PET_STATUSES);
    const isClaimed = random.isOneIn(3);
    const record: CreateRecord = {
      name,
      status,
      startMs: performance.now(),
      endMs: Number.POSITIVE_INFINITY,
      pet: undefined,
    };
    this.story.creates.push(record);
    // Only a create with an Idempotency-Key can be repeated. One of two gives up after a lost response.
    const triesMax = isClaimed && random.isOneIn(2) ? RETRIES_MAX : 1;
    for (let tries = 0; tries < triesMax; tries += 1) {
      const response = await send(client, `${processes.pickUrl(random)}/pets`, {
        method: 'POST',
        headers: isClaimed ? { 'Idempotency-Key': name } : {},
        body: JSON.stringify({ name, categoryId: 1, status }),
        cutAfterMs: tries === 0 ? this.#pickCut() : undefined,
      });
      if (response?.status === 201) {
        record.pet = JSON.parse(response.body) as WirePet;
        record.endMs = response.endMs;
        this.#highestId = Math.max(this.#highestId, record.pet.id);
        return;
      }
      this.#countFailure(response, 'a create');
      if (triesMax > 1) await sleep(RETRY_MS);
    }
  }

  /** Changes or removes some animals whose creates were acknowledged. */
  async #command(): Promise<void> {
    const { random, processes, fault, runCommand } = this.#options;
    const there = this.story.creates.flatMap(({ pet }) => (pet === undefined ? [] : [pet.id]));
    // A command that loses its database may have changed the animals or not.
    if (there.length === 0 || fault.includes('PostgreSQL')) return;
    const count = 1 + random.integer(IDS_PER_COMMAND_MAX);
    const ids = Array.from({ length: count }, () => random.pick(there));
    const status = random.isOneIn(2) ? undefined : random.pick(PET_STATUSES);
    const verb = status === undefined ? ['remove', '--yes'] : ['set-status', '--to', status];
    const isRefused = random.isOneIn(5);
    const named = [...ids.map(String), ...(isRefused ? [NO_SUCH_ID] : [])];
    const args = ['catalogue', ...verb, ...processes.storeFlags, ...named];
    const startMs = performance.now();
    const { code, stderr } = await runCommand(args);
    if (code === 0) this.story.commands.push({ ids, status, startMs, endMs: performance.now() });
    if (code === (isRefused ? 1 : 0)) return;
    this.story.failures += 1;
    if (NOTHING_CHANGED.test(stderr)) return;
    this.story.violations.push(`${args.join(' ')} ended with ${code}: ${stderr}`);
  }

  async #list(client: Client): Promise<void> {
    const { random, afterId } = this.#options;
    if (random.isOneIn(4) && this.#nextPages.length > 0) {
      const { target, list } = random.pick(this.#nextPages);
      await this.#read(client, target, (response) => pageOf(list, response));
      return;
    }
    // Few different pages, so that most are cached.
    const list: List = {
      kind: 'list',
      afterId,
      status: random.isOneIn(2) ? undefined : random.pick(['available', 'sold']),
      limit: random.pick([2, 100, 100]),
    };
    await this.#read(client, this.#targetOf(list), (response) => pageOf(list, response));
  }

  #targetOf({ afterId, status, limit }: List): string {
    const filter = status === undefined ? '' : `&status=${status}`;
    const cursor =
      afterId === 0 ? '' : `&cursor=${newCursor(BigInt(afterId), status as PetStatus | undefined)}`;
    return `/pets?limit=${limit}${filter}${cursor}`;
  }

  async #get(client: Client): Promise<void> {
    const { random, afterId } = this.#options;
    // Up to the id that the next create may get.
    const id = afterId + 1 + random.integer(this.#highestId - afterId + 2);
    await this.#read(client, `/pets/${id}`, ({ status, body }) => ({
      kind: 'get',
      id,
      pet: status === 404 ? undefined : (JSON.parse(body) as WirePet),
    }));
  }

  /** Returns whether there was a response that says what the catalogue holds. */
  async #read(
    client: Client,
    target: string,
    observe: (response: Response) => Observation,
  ): Promise<boolean> {
    const { random, processes } = this.#options;
    const known = random.isOneIn(2) ? this.#known.get(target) : undefined;
    const response = await send(client, processes.pickUrl(random) + target, {
      method: 'GET',
      headers: known === undefined ? {} : { 'If-None-Match': known.etag },
      cutAfterMs: this.#pickCut(),
    });
    const isNotFound = response?.status === 404 && !target.includes('?');
    const isUnchanged = response?.status === 304 && known !== undefined;
    if (response === undefined || !(response.status === 200 || isNotFound || isUnchanged)) {
      this.#countFailure(response, `GET ${target}`);
      return false;
    }
    const { startMs, endMs } = response;
    const whole = isUnchanged ? { ...response, ...known } : response;
    if (response.status === 200) this.#known.set(target, response);
    const observed = observe(whole);
    this.story.reads.push({ request: `GET ${target}`, startMs, endMs, observed });
    if (observed.kind === 'list') this.#noteNextPage(whole.link, observed);
    return true;
  }

  #noteNextPage(link: string, { pets, ...list }: Extract<Observation, { kind: 'list' }>): void {
    const target = nextTarget(link);
    const afterId = pets.at(-1)?.id;
    if (target === undefined || afterId === undefined) return;
    const { kind, status, limit } = list;
    this.#nextPages.push({ target, list: { kind, afterId, status, limit } });
  }

  #pickCut(): number | undefined {
    const { random, fault } = this.#options;
    const isCut = fault === 'a connection of a client is cut' && random.isOneIn(4);
    return isCut ? random.integer(CUT_AFTER_MS_MAX) : undefined;
  }

  /** A lost response and 503 are no violation: a fault may cause them. Any other response is one. */
  #countFailure(response: Response | undefined, request: string): void {
    this.story.failures += 1;
    if (response === undefined || response.status === 503) return;
    this.story.violations.push(`${request} returned ${response.status} ${response.body}`);
  }
}

function pageOf(list: List, { body, link }: Response): Observation {
  return {
    ...list,
    pets: JSON.parse(body) as WirePet[],
    hasNext: nextTarget(link) !== undefined,
  };
}

/** Resolves to undefined if the response is lost. */
async function send(
  client: Client,
  url: string,
  request: ClientRequest,
): Promise<Response | undefined> {
  const startMs = performance.now();
  try {
    const response = await client.send(url, request);
    return { ...response, startMs, endMs: performance.now() };
  } catch {
    return undefined;
  }
}
