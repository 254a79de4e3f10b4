import { setTimeout as sleep } from 'node:timers/promises';
import { newCursor } from '../../src/domain/page.ts';
import { PET_STATUSES, type PetStatus } from '../../src/domain/pet.ts';
import {
  Client,
  nextTarget,
  StalledRequest,
  type ClientRequest,
  type ClientResponse,
  type WirePet,
} from '../../harness/client.ts';
import type { runHere } from '../../harness/command.ts';
import type { Random } from '../../harness/random.ts';
import type { until } from '../../harness/until.ts';
import { CREATED_CATEGORY } from './checker.ts';
import type {
  ChangeRecord,
  CommandRecord,
  CreateRecord,
  History,
  Observation,
  ReadRecord,
} from './checker.ts';

const CLIENTS = 12;
/** Of each client, and more as long as the fault lasts: these as fast as they can, and the others with pauses. */
const OPERATIONS = 10;
const FAST_OPERATIONS = 30;
/** So many, if a kind of request was not among the others. */
const OPERATIONS_MAX = 100;
/** A fault happens at any moment of this time. */
export const MOMENT_MS_MAX = 60;
const PAUSE_MS = 40;
/** Late enough that there are animals, and early enough that the same client reads afterwards. */
const COMMAND_AT = 3;
const CUT_EVERY = 4;
const CUT_AFTER_MS_MAX = 6;
const RETRY_MS = 100;
const RETRIES_MAX = 600;
/** How many creates with a response are sent again. */
const REPEATED = 5;
const IDS_PER_COMMAND_MAX = 5;
/** Few animals, so that changes meet. */
const CHANGED_ANIMALS = 4;
const REMOVAL_EVERY = 4;
const STALE_EVERY = 5;
const FIRST_CATEGORY = 1_000;
const NEVER_STORED = -1;
const OUTCOMES: Readonly<Record<number, ChangeRecord['outcome']>> = {
  200: 'done',
  404: 'gone',
  409: 'changed',
};
export const NO_SUCH_ID = '9223372036854775807';
/**
 * On a busy machine the store may not respond in time; and a client may change an animal that a command has just read.
 * Nothing was changed then.
 */
const NOTHING_CHANGED = /gives no response in time|database is locked|somebody has changed/;

/** What clients have sent. A drill without one of these has tried less than it says. */
export const KINDS = [
  'creates with a key',
  'creates without a key',
  'repeated creates',
  'lists',
  'next pages',
  'gets',
  'conditional reads',
  'changes',
  'removals',
  'refused changes',
  'commands',
] as const;

export interface WorkloadOptions {
  /** The origin of any of the processes. */
  pickOrigin: () => string;
  random: Random;
  key: string;
  /** Begins the names of the animals, so that no two histories share one. */
  name: string;
  /** The highest id before. All lists begin after it. */
  afterId: number;
  /** What may happen to a request without being a violation. */
  may: Tolerance;
  /** Runs `petstore`; undefined where a command could lose its database, and have changed the animals or not. */
  runCommand: typeof runHere | undefined;
  /** With these a command finds the store. */
  storeFlags: readonly string[];
  until: typeof until;
}

export interface Tolerance {
  /** It gets 503. */
  beRefused?: boolean;
  /** Its connection ends without a response. */
  loseResponse?: boolean;
  /** Its client closes the connection. */
  beCut?: boolean;
}

interface SentCreate extends CreateRecord {
  hasKey: boolean;
}

/** A response, with the times of its request. */
interface Response extends ClientResponse {
  startMs: number;
  endMs: number;
}

type List = Omit<Extract<Observation, { kind: 'list' }>, 'pets' | 'hasNext'>;

/** Clients that create, read and change animals and run commands at the same time, through all processes. */
export class Workload implements History {
  readonly creates: SentCreate[] = [];
  readonly changes: ChangeRecord[] = [];
  readonly commands: CommandRecord[] = [];
  readonly reads: ReadRecord[] = [];
  readonly violations: string[] = [];
  /** How often each kind of request was sent. */
  readonly counts: Record<string, number> = {};
  /** How many responses were 503. */
  refused = 0;
  /** What is stored at the end. */
  stored: readonly WirePet[] = [];
  readonly #options: WorkloadOptions;
  /** By target: what a client can revalidate with `If-None-Match`. */
  readonly #known = new Map<string, Pick<Response, 'etag' | 'body' | 'link'>>();
  /** The pages that `rel="next"` links lead to. */
  readonly #nextPages: { target: string; list: List }[] = [];
  /** Each animal as somebody has seen it. */
  readonly #seen = new Map<number, WirePet>();
  #isOver = false;
  /** Nothing is sent again. */
  #isAbandoned = false;

  constructor(options: WorkloadOptions) {
    this.#options = options;
  }

  /** Resolves when the fault has happened, all that can be repeated has a response, and everything was read. */
  async run(cause: () => Promise<void>): Promise<void> {
    // One client runs a command, so that commands run one after the other.
    const clients = Promise.all(
      Array.from({ length: CLIENTS }, (_, index) => this.#runClient(index === 0)),
    );
    try {
      await cause();
    } catch (error) {
      this.#isAbandoned = true;
      throw error;
    } finally {
      this.#isOver = true;
    }
    await clients;
    const client = new Client(this.#options.key);
    await this.#repeatCreates(client);
    this.stored = await this.#readAll(client);
    client.close();
  }

  /** Resolves when a create that began after this call is acknowledged. */
  async untilAcknowledged(): Promise<void> {
    const fromMs = performance.now();
    await this.#options.until('no create was acknowledged', () => this.isAcknowledged(fromMs));
  }

  /** Resolves at any moment while creates are acknowledged. */
  async untilAnyMoment(): Promise<void> {
    await this.untilAcknowledged();
    await sleep(this.#options.random.integer(MOMENT_MS_MAX));
  }

  /** Whether a create that began after this time was acknowledged. */
  isAcknowledged(fromMs: number): boolean {
    return this.creates.some(({ startMs, pet }) => pet !== undefined && startMs > fromMs);
  }

  /** What was read so far is not judged, nor why changes were refused. */
  forgetReads(): void {
    this.reads.length = 0;
    for (const change of this.changes) {
      if (change.outcome === 'done') continue;
      change.outcome = 'unknown';
      change.endMs = Number.POSITIVE_INFINITY;
    }
  }

  async #runClient(runsCommand: boolean): Promise<void> {
    const { random } = this.#options;
    const client = new Client(this.#options.key);
    let isCommandDue = runsCommand && this.#options.runCommand !== undefined;
    const isMore = (count: number) =>
      count < OPERATIONS || !this.#isOver || (count < OPERATIONS_MAX && this.#lacksKind());
    for (let count = 0; isMore(count); count += 1) {
      const choice = random.integer(20);
      if (isCommandDue && count >= COMMAND_AT) isCommandDue = !(await this.#command());
      else if (choice < 9) await this.#create(client);
      else if (choice < 12) await this.#change(client);
      else if (choice < 15) await this.#get(client);
      else await this.#list(client);
      if (count >= FAST_OPERATIONS) await sleep(PAUSE_MS);
    }
    client.close();
  }

  #lacksKind(): boolean {
    const isDue = (kind: (typeof KINDS)[number]) =>
      kind !== 'repeated creates' &&
      (kind !== 'commands' || this.#options.runCommand !== undefined);
    return !this.#isAbandoned && KINDS.some((kind) => isDue(kind) && !(kind in this.counts));
  }

  async #create(client: Client): Promise<void> {
    const { random, name: prefix } = this.#options;
    const record: SentCreate = {
      name: `${prefix}-${this.creates.length}`,
      status: random.pick(PET_STATUSES),
      hasKey: random.isOneIn(2),
      startMs: performance.now(),
      endMs: Number.POSITIVE_INFINITY,
      pet: undefined,
    };
    this.creates.push(record);
    this.#count(record.hasKey ? 'creates with a key' : 'creates without a key');
    const isSent = await this.#sendCreate(client, record, this.#pickCut());
    // Only a create with an Idempotency-Key can be repeated. One of two is repeated at the end.
    if (!isSent && record.hasKey && random.isOneIn(2)) await this.#repeat(client, record);
  }

  async #repeat(client: Client, record: SentCreate): Promise<void> {
    for (let tries = 0; tries < RETRIES_MAX && !this.#isAbandoned; tries += 1) {
      this.#count('repeated creates');
      if (await this.#sendCreate(client, record)) return;
      await sleep(RETRY_MS);
    }
    this.violations.push(`the create of ${record.name} could not be repeated within a minute`);
  }

  /** Every create with a key and without a response, and some of the others. */
  async #repeatCreates(client: Client): Promise<void> {
    const withKey = this.creates.filter(({ hasKey }) => hasKey);
    const [open, done] = [
      withKey.filter(({ pet }) => pet === undefined),
      withKey.filter(({ pet }) => pet !== undefined),
    ];
    for (const record of [...open, ...done.slice(-REPEATED)]) await this.#repeat(client, record);
  }

  /** Returns whether the create was acknowledged. */
  async #sendCreate(client: Client, record: SentCreate, cutAfterMs?: number): Promise<boolean> {
    const { name, status, hasKey, pet } = record;
    const response = await this.#send(client, '/v1/pets', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(hasKey && { 'Idempotency-Key': name }) },
      body: JSON.stringify({ name, categoryId: CREATED_CATEGORY, status }),
      cutAfterMs,
    });
    if (response === undefined) return false;
    if (response.status !== 201) {
      this.#report('a create', response);
      return false;
    }
    const created = JSON.parse(response.body) as WirePet;
    if (pet === undefined) {
      record.pet = created;
      record.endMs = response.endMs;
      if (!this.#seen.has(created.id)) this.#seen.set(created.id, created);
    } else if (JSON.stringify(pet) !== JSON.stringify(created)) {
      this.violations.push(`${JSON.stringify(pet)} was repeated as ${response.body}`);
    }
    return true;
  }

  /** Changes or removes an animal as somebody has seen it, or as it never was. */
  async #change(client: Client): Promise<void> {
    const { random } = this.#options;
    const number = this.changes.length;
    const isRemoval = number % REMOVAL_EVERY === 1;
    const seen = [...this.#seen.values()].filter((pet) => !isRemoval || mayBeRemoved(pet));
    if (seen.length === 0) return this.#create(client);
    const pet = random.pick(seen.slice(0, CHANGED_ANIMALS));
    const to = { categoryId: FIRST_CATEGORY + number, status: random.pick(PET_STATUSES) };
    const record: ChangeRecord = {
      from: number % STALE_EVERY === 1 ? { ...pet, categoryId: NEVER_STORED } : pet,
      to: isRemoval ? undefined : { ...pet, ...to },
      startMs: performance.now(),
      endMs: Number.POSITIVE_INFINITY,
      outcome: 'unknown',
    };
    this.changes.push(record);
    this.#count(isRemoval ? 'removals' : 'changes');
    const { id, ...from } = record.from;
    for (let tries = 0; tries < RETRIES_MAX && !this.#isAbandoned; tries += 1) {
      const response = await this.#send(
        client,
        `/console/pets/${id}/${isRemoval ? 'remove' : 'change'}`,
        {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify(isRemoval ? { from } : { from, to }),
          cutAfterMs: this.#pickCut(),
        },
      );
      if (response !== undefined) return this.#endChange(record, response, tries > 0);
      if (random.isOneIn(4)) return undefined;
      await sleep(RETRY_MS);
    }
  }

  #endChange(record: ChangeRecord, response: Response, isRepeated: boolean): void {
    const { from, to } = record;
    const outcome = OUTCOMES[response.status];
    if (outcome === undefined) return this.#report('a change', response);
    if (outcome === 'done' && to !== undefined) this.#seen.set(from.id, to);
    else this.#seen.delete(from.id);
    if (outcome !== 'done') this.#count('refused changes');
    // One that is refused when it is repeated may have been carried out before.
    if (isRepeated && outcome !== 'done') return undefined;
    record.outcome = outcome;
    record.endMs = response.endMs;
    return undefined;
  }

  /** Changes or removes some animals whose creates were acknowledged, and that nobody else removes, if there are any. */
  async #command(): Promise<boolean> {
    const { random, storeFlags, runCommand } = this.#options;
    const there = this.creates.flatMap(({ pet }) =>
      pet === undefined || mayBeRemoved(pet) ? [] : [pet.id],
    );
    if (there.length === 0 || runCommand === undefined) return false;
    this.#count('commands');
    const count = 1 + random.integer(IDS_PER_COMMAND_MAX);
    const ids = Array.from({ length: count }, () => random.pick(there));
    const status = random.isOneIn(2) ? undefined : random.pick(PET_STATUSES);
    const verb = status === undefined ? ['remove', '--yes'] : ['set', '--status', status];
    const isRefused = random.isOneIn(5);
    const named = [...ids.map(String), ...(isRefused ? [NO_SUCH_ID] : [])];
    const args = ['catalogue', ...verb, ...storeFlags, ...named];
    const startMs = performance.now();
    const { code, stderr } = await runCommand(args);
    if (code === 0) this.commands.push({ ids, status, startMs, endMs: performance.now() });
    if (code === (isRefused ? 1 : 0) || NOTHING_CHANGED.test(stderr)) return true;
    this.violations.push(`${args.join(' ')} ended with ${code}: ${stderr}`);
    return true;
  }

  /** Every page, from the first to the last. It shows which of the creates without a response have happened. */
  async #readAll(client: Client): Promise<WirePet[]> {
    const pets: WirePet[] = [];
    let list: List = {
      kind: 'list',
      afterId: this.#options.afterId,
      status: undefined,
      limit: 100,
    };
    for (let tries = 0; tries < RETRIES_MAX && !this.#isAbandoned; tries += 1) {
      const page = await this.#read(client, targetOf(list), (response) => pageOf(list, response));
      if (page?.kind !== 'list') {
        await sleep(RETRY_MS);
        continue;
      }
      pets.push(...page.pets);
      const last = page.pets.at(-1);
      if (!page.hasNext || last === undefined) return pets;
      list = { ...list, afterId: last.id };
    }
    throw new Error('nothing could be read for a minute');
  }

  async #list(client: Client): Promise<void> {
    const { random, afterId } = this.#options;
    if (random.isOneIn(4) && this.#nextPages.length > 0) {
      const { target, list } = random.pick(this.#nextPages);
      this.#count('next pages');
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
    this.#count('lists');
    await this.#read(client, targetOf(list), (response) => pageOf(list, response));
  }

  async #get(client: Client): Promise<void> {
    const { random, afterId } = this.#options;
    // Up to the id that the next create may get.
    const highestId = Math.max(afterId, ...this.#seen.keys());
    const id = afterId + 1 + random.integer(highestId - afterId + 2);
    this.#count('gets');
    await this.#read(client, `/pets/${id}`, ({ status, body }) => ({
      kind: 'get',
      id,
      pet: status === 404 ? undefined : (JSON.parse(body) as WirePet),
    }));
  }

  /** Returns what the response says about the catalogue, if there was one. */
  async #read(
    client: Client,
    target: string,
    observe: (response: Response) => Observation,
  ): Promise<Observation | undefined> {
    const known = this.#options.random.isOneIn(2) ? this.#known.get(target) : undefined;
    if (known !== undefined) this.#count('conditional reads');
    const response = await this.#send(client, `/v1${target}`, {
      method: 'GET',
      headers: known === undefined ? {} : { 'If-None-Match': known.etag },
      cutAfterMs: this.#pickCut(),
    });
    if (response === undefined) return undefined;
    const isNotFound = response.status === 404 && !target.includes('?');
    const isUnchanged = response.status === 304 && known !== undefined;
    if (!(response.status === 200 || isNotFound || isUnchanged)) {
      this.#report(`GET ${target}`, response);
      return undefined;
    }
    const { startMs, endMs } = response;
    const whole = isUnchanged ? { ...response, ...known } : response;
    if (response.status === 200) this.#known.set(target, response);
    const observed = observe(whole);
    this.reads.push({ request: `GET ${target}`, startMs, endMs, observed });
    const pets = observed.kind === 'list' ? observed.pets : [observed.pet];
    for (const pet of pets) if (pet !== undefined) this.#seen.set(pet.id, pet);
    if (observed.kind === 'list') this.#noteNextPage(whole.link, observed);
    return observed;
  }

  #noteNextPage(link: string, { pets, ...list }: Extract<Observation, { kind: 'list' }>): void {
    const target = nextTarget(link);
    const afterId = pets.at(-1)?.id;
    if (target === undefined || afterId === undefined) return;
    const { kind, status, limit } = list;
    this.#nextPages.push({ target, list: { kind, afterId, status, limit } });
  }

  #pickCut(): number | undefined {
    const { random, may } = this.#options;
    const isCut = may.beCut === true && !this.#isOver && random.isOneIn(CUT_EVERY);
    return isCut ? random.integer(CUT_AFTER_MS_MAX) : undefined;
  }

  /** Resolves to undefined if the response is lost, or 503. Whether that may happen depends on the fault. */
  async #send(
    client: Client,
    target: string,
    request: ClientRequest,
  ): Promise<Response | undefined> {
    const { may, pickOrigin } = this.#options;
    const what = `${request.method} ${target}`;
    const startMs = performance.now();
    try {
      const response = await client.send(pickOrigin() + target, request);
      if (response.status !== 503) return { ...response, startMs, endMs: performance.now() };
      this.refused += 1;
      if (may.beRefused !== true) this.#report(what, response);
    } catch (error) {
      const mayBeLost = may.loseResponse === true || request.cutAfterMs !== undefined;
      if (!mayBeLost || error instanceof StalledRequest) {
        this.violations.push(`${what} got no response: ${String(error)}`);
      }
    }
    this.#count('without a response, or with 503');
    return undefined;
  }

  #report(what: string, { status, body }: Response | ClientResponse): void {
    this.violations.push(`${what} returned ${status} ${body}`);
  }

  #count(kind: (typeof KINDS)[number] | 'without a response, or with 503'): void {
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
  }
}

/** Only every other one: a command names those that must be there. */
const mayBeRemoved = ({ id }: WirePet) => id % 2 === 0;

function targetOf({ afterId, status, limit }: List): string {
  const filter = status === undefined ? '' : `&status=${status}`;
  const cursor =
    afterId === 0 ? '' : `&cursor=${newCursor(BigInt(afterId), status as PetStatus | undefined)}`;
  return `/pets?limit=${limit}${filter}${cursor}`;
}

function pageOf(list: List, { body, link }: Response): Observation {
  return {
    ...list,
    pets: JSON.parse(body) as WirePet[],
    hasNext: nextTarget(link) !== undefined,
  };
}
