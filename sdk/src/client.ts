import { readPet, shown, toInt64, writeNewPet } from './json.ts';
import { findCursor, findLink } from './link.ts';
import { send } from './request.ts';
import type { Connection, ListOptions, PetList, Pets, PetStoreOptions } from './types.ts';

/** The largest delay of setTimeout: a longer one fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** More than an array can hold in memory. */
const ANIMALS_MAX = TIMER_MS_MAX;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
const EXAMPLE_URL = 'https://pets.example/v1';

/** A client of one Pet Store service. */
export class PetStore {
  readonly pets: Pets;

  constructor(options: PetStoreOptions = {}) {
    // JavaScript allows `new PetStore(null)`.
    const given = Object(options) as PetStoreOptions;
    const { fetch = globalThis.fetch, warn = console.warn } = given;
    const { baseUrl = variable('PETSTORE_BASE_URL'), apiKey = variable('PETSTORE_API_KEY') } =
      given;
    if (!baseUrl || !apiKey) {
      const missing = [baseUrl ? '' : 'baseUrl', apiKey ? '' : 'apiKey'].filter(Boolean);
      const example = `new PetStore({ baseUrl: '${EXAMPLE_URL}', apiKey: '…' })`;
      throw new TypeError(
        `Missing ${missing.join(' and ')}: use ${example}, or set PETSTORE_BASE_URL and PETSTORE_API_KEY.`,
      );
    }
    // The message does not repeat the value: a mistyped key is still a secret.
    if (!VISIBLE_ASCII.test(apiKey)) {
      throw new TypeError('apiKey must be visible ASCII characters.');
    }
    const base = parseBaseUrl(baseUrl);
    this.pets = newPets({
      baseUrl: base,
      apiKey,
      fetch,
      timeoutMs: inRange(1, 'timeoutMs', given.timeoutMs ?? 10_000),
      totalTimeoutMs: inRange(1, 'totalTimeoutMs', given.totalTimeoutMs ?? 60_000),
      retries: inRange(0, 'retries', given.retries ?? 4),
      backoffMs: inRange(0, 'backoffMs', given.backoffMs ?? 200),
      onResponse: newDeprecationNotice(warn, base),
    });
  }
}

/** Undefined in a browser, which has no environment variables. */
function variable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name];
}

/** The key is in a closure, so that logging the client does not show it. */
function newPets(connection: Connection): Pets {
  return {
    list: (options = {}) => newPetList(connection, options),

    async create(pet, { idempotencyKey = newIdempotencyKey(), signal } = {}) {
      if (!VISIBLE_ASCII.test(idempotencyKey) || idempotencyKey.length > 255) {
        throw new TypeError('idempotencyKey must be 1 to 255 visible ASCII characters.');
      }
      const headers = {
        'Content-Type': 'application/json',
        'Idempotency-Key': `"${idempotencyKey.replace(/["\\]/g, '\\$&')}"`,
      };
      const body = writeNewPet(pet);
      const post = { operation: 'POST /pets', path: '/pets', method: 'POST', headers, body };
      return send(connection, { ...post, signal }, readPet);
    },

    async get(id, { signal } = {}) {
      const path = `/pets/${toInt64(id, 'id')}`;
      return send(connection, { operation: 'GET /pets/{petId}', path, signal }, readPet);
    },
  };
}

/** A list from the first page on or, reversed, from the last page back. */
function newPetList(connection: Connection, options: ListOptions, isReversed = false): PetList {
  const { status, limit, signal } = options;
  const list: PetList = {
    async page(cursor = isReversed ? 'last' : undefined) {
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries({ status, limit, cursor })) {
        if (value !== undefined) query.set(name, String(value));
      }
      const path = `/pets?${query.toString()}`.replace(/\?$/, '');
      return send(connection, { operation: 'GET /pets', path, signal }, (json, headers) => {
        const nextCursor = findCursor(headers, isReversed ? 'prev' : 'next', connection.baseUrl);
        if (!Array.isArray(json)) throw new TypeError('This is not a list.');
        if (nextCursor && nextCursor === cursor) throw new TypeError('The next page is this page.');
        const pets = json.map(readPet);
        return { pets: isReversed ? pets.toReversed() : pets, nextCursor };
      });
    },

    last: () => list.page('last'),

    toReversed: () => newPetList(connection, options, !isReversed),

    // oxlint-disable-next-line unicorn/no-thenable -- `await list` returns the first page.
    then: (onPage, onError) => list.page().then(onPage, onError),

    async toArray({ max = ANIMALS_MAX } = {}) {
      inRange(1, 'max', max);
      const pets = [];
      for await (const pet of list) if (pets.push(pet) >= max) break;
      return pets;
    },

    async *[Symbol.asyncIterator]() {
      let cursor: string | undefined;
      do {
        const page = await list.page(cursor);
        yield* page.pets;
        cursor = page.nextCursor;
      } while (cursor !== undefined);
    },
  };
  return list;
}

function parseBaseUrl(text: string): string {
  const url = text.replace(/\/+$/, '');
  if (/^https?:\/\/[^\s?#@]+\/v1$/.test(url) && URL.canParse(url)) return url;
  throw new TypeError(
    `baseUrl must be an http or https URL that ends in /v1, such as ${EXAMPLE_URL}.`,
  );
}

function inRange(min: number, name: string, value: number): number {
  if (value >= min && value <= TIMER_MS_MAX) return value;
  throw new TypeError(
    `${name} must be a number from ${min} to ${TIMER_MS_MAX}, not ${shown(value)}.`,
  );
}

/** Browsers do not offer randomUUID to pages loaded over plain HTTP. */
export function newIdempotencyKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}

function newDeprecationNotice(
  warn: (message: string) => void,
  baseUrl: string,
): Connection['onResponse'] {
  const warned = new Set<string>();
  return (operation, headers) => {
    if (!headers.has('deprecation') || warned.has(operation)) return;
    warned.add(operation);
    const end = headers.get('sunset') ?? 'an unknown date';
    const link = findLink(headers, 'deprecation') ?? '';
    // A link may be a path, which whoever reads the warning cannot open.
    const page = link !== '' && URL.canParse(link, baseUrl) ? new URL(link, baseUrl).href : link;
    warn(`petstore-client: ${operation} is deprecated and ends on ${end}. ${page}`.trim());
  };
}
