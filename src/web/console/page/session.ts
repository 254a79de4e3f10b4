import {
  PetStore,
  stringify,
  type NewPet,
  type Pet,
  type Pets,
} from '../../../../sdk/src/index.ts';
import { readPet, writeNewPet } from '../../../../sdk/src/json.ts';
import { send } from '../../../../sdk/src/request.ts';
import type { Call, Connection, Read } from '../../../../sdk/src/types.ts';
import { storeKey } from './stored-key.ts';

/** A person is waiting: retry through short outages, and report longer ones soon. */
const PATIENCE = { timeoutMs: 8_000, totalTimeoutMs: 10_000, retries: 2, backoffMs: 200 };

/** A list of 1 MiB takes a slow line several seconds. */
const LIST_PATIENCE = { timeoutMs: 20_000, totalTimeoutMs: 30_000 };

/** Relative to the page, so that it also works behind a proxy that adds a path prefix. */
export const BASE_URL = new URL('v1', document.baseURI).href;
/** The console's own requests. */
const CONSOLE_URL = new URL('console', document.baseURI).href;

/** What the key may do, as the service says. */
export interface Access {
  mayRead: boolean;
  mayAdd: boolean;
  /** It may change and remove animals, and the store lets it. */
  mayChange: boolean;
  /** It has the scope for changes. */
  hasManageScope: boolean;
}

const NOTHING: Access = { mayRead: false, mayAdd: false, mayChange: false, hasManageScope: false };

/** The key and the client that uses it. The key is kept until the tab is closed, and is never in a URL. */
export class Session {
  #pets: Pets | undefined;
  #connection: Connection | undefined;
  #access = NOTHING;
  #secondsToHalf = 0;

  get isOpen(): boolean {
    return this.#pets !== undefined;
  }

  get pets(): Pets {
    if (this.#pets === undefined) throw new Error('Paste an API key first.');
    return this.#pets;
  }

  get access(): Access {
    return this.#access;
  }

  /** After how many seconds half of the requests of the key are left again; 0 if they are. */
  get secondsToHalf(): number {
    return this.#secondsToHalf;
  }

  /** Asks what the key may do, and uses it from then on. Throws a TypeError if the text cannot be a key. */
  async open(apiKey: string): Promise<void> {
    const { pets } = new PetStore({
      baseUrl: BASE_URL,
      apiKey,
      fetch: (input, init) => this.#fetch(input, init),
      // The page itself shows what is deprecated.
      warn: () => undefined,
      ...PATIENCE,
    });
    this.#connection = {
      baseUrl: CONSOLE_URL,
      apiKey,
      fetch: (input, init) => fetch(input, init),
      onResponse: () => undefined,
      ...PATIENCE,
    };
    this.#access = await this.#send({ operation: 'GET /session', path: '/session' }, readAccess);
    this.#pets = pets;
    storeKey(apiKey);
  }

  /** Changes an animal that is still as the person saw it. Returns it as it is then. */
  change(seen: Pet, to: NewPet): Promise<Pet> {
    const body = `{"from":${writeNewPet(seen)},"to":${writeNewPet(to)}}`;
    return this.#post(`/pets/${seen.id}/change`, body);
  }

  /** Removes an animal that is still as the person saw it. */
  async remove(seen: Pet): Promise<void> {
    await this.#post(`/pets/${seen.id}/remove`, `{"from":${writeNewPet(seen)}}`);
  }

  /** Sends a list, as it is typed or as a file. The numbers of the response are counts, and need no bigint. */
  importList<Result>(list: string | File, query: string, signal?: AbortSignal): Promise<Result> {
    const type = typeof list === 'string' ? 'text/plain' : 'application/octet-stream';
    const call = { operation: 'POST /import', path: `/import?${query}`, method: 'POST' };
    const connection = { ...this.#open, ...LIST_PATIENCE };
    const sent = { ...call, headers: { 'Content-Type': type }, body: list, signal };
    return send(connection, sent, (json) => JSON.parse(stringify(json)) as Result);
  }

  #post(path: string, body: string): Promise<Pet> {
    const headers = { 'Content-Type': 'application/json' };
    return this.#send({ operation: `POST ${path}`, path, method: 'POST', headers, body }, readPet);
  }

  /** Sends one of the console's own requests. */
  #send<Result>(call: Call, read: Read<Result>): Promise<Result> {
    return send(this.#open, call, read);
  }

  get #open(): Connection {
    if (this.#connection === undefined) throw new Error('Paste an API key first.');
    return this.#connection;
  }

  /** Reads how many requests are left, which the client library does not pass on. */
  async #fetch(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
    const response = await fetch(input, init);
    this.#secondsToHalf = secondsToHalf(response.headers);
    return response;
  }

  close(): void {
    this.#pets = undefined;
    this.#connection = undefined;
    this.#access = NOTHING;
    storeKey(undefined);
  }
}

/** By `RateLimit` and `RateLimit-Policy`. Without them the requests of the key are not limited. */
function secondsToHalf(headers: Headers): number {
  const [, left, seconds] = /;r=(\d+);t=(\d+)/.exec(headers.get('RateLimit') ?? '') ?? [];
  const [, quota] = /;q=(\d+)/.exec(headers.get('RateLimit-Policy') ?? '') ?? [];
  return Number(left) <= Number(quota) / 2 ? Number(seconds) : 0;
}

/** A response without these facts is not from the service: it allows nothing. */
function readAccess(json: unknown): Access {
  const facts = Object(json) as Partial<Record<keyof Access, unknown>>;
  if (typeof facts.mayRead !== 'boolean') throw new TypeError('This is no session.');
  return {
    mayRead: facts.mayRead,
    mayAdd: facts.mayAdd === true,
    mayChange: facts.mayChange === true,
    hasManageScope: facts.hasManageScope === true,
  };
}
