import { readPet, toInt64, writeNewPet } from './json.ts';
import { findLink, nextCursor } from './link.ts';
import { send } from './request.ts';
import type { Connection, ListOptions, PetList, Pets, PetStoreOptions } from './types.ts';

/** What setTimeout can hold; beyond it, it would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** A client of one Pet Store service. */
export class PetStore {
  readonly pets: Pets;

  constructor(options: PetStoreOptions) {
    const { apiKey, fetch = globalThis.fetch, warn = console.warn } = options;
    // The message leaves the value out: a mistyped key is still a secret.
    if (!VISIBLE_ASCII.test(apiKey ?? '')) {
      throw new TypeError('apiKey must be visible ASCII characters.');
    }
    this.pets = newPets({
      baseUrl: parseBaseUrl(options.baseUrl),
      apiKey,
      fetch,
      timeoutMs: atLeast(1, 'timeoutMs', options.timeoutMs ?? 10_000),
      totalTimeoutMs: atLeast(1, 'totalTimeoutMs', options.totalTimeoutMs ?? 60_000),
      retries: atLeast(0, 'retries', options.retries ?? 4),
      backoffMs: atLeast(0, 'backoffMs', options.backoffMs ?? 200),
      onAnswer: newDeprecationNotice(warn),
    });
  }
}

/** A closure keeps the key out of what a log of the client shows. */
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

function newPetList(connection: Connection, { status, limit, signal }: ListOptions): PetList {
  const list: PetList = {
    async page(cursor) {
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries({ status, limit, cursor })) {
        if (value !== undefined) query.set(name, String(value));
      }
      const path = `/pets?${query.toString()}`.replace(/\?$/, '');
      return send(connection, { operation: 'GET /pets', path, signal }, (json, headers) => {
        const next = nextCursor(headers, connection.baseUrl);
        if (!Array.isArray(json)) throw new TypeError('This is not a list.');
        if (next && next === cursor) throw new TypeError('This page leads to itself.');
        return { pets: json.map(readPet), nextCursor: next };
      });
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
  if (/^https?:\/\/[^\s?#@]+$/.test(text) && URL.canParse(text)) return text.replace(/\/+$/, '');
  throw new TypeError('baseUrl must be an http or https address such as https://pets.example/v1.');
}

function atLeast(least: number, name: string, value: number): number {
  if (value >= least && value <= TIMER_MS_MAX) return value;
  throw new TypeError(`${name} must be a number from ${least} to ${TIMER_MS_MAX}, not ${value}.`);
}

/** From getRandomValues, because browsers keep randomUUID from pages that came over plain http. */
function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function newDeprecationNotice(warn: (message: string) => void): Connection['onAnswer'] {
  const told = new Set<string>();
  return (operation, headers) => {
    if (!headers.has('deprecation') || told.has(operation)) return;
    told.add(operation);
    const end = headers.get('sunset') ?? 'an unknown date';
    const page = findLink(headers, 'deprecation') ?? '';
    warn(`petstore-client: ${operation} is deprecated and ends on ${end}. ${page}`.trim());
  };
}
