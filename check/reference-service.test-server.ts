import { mock } from 'node:test';
import { isInt64, parseJson } from '../sdk/src/json.ts';
import { INT64_MAX, INT64_MIN, PET_STATUSES } from './specification.ts';

export const KEY = 'reference/key+0123456789"Z';

export interface Animal {
  id: bigint;
  name: string;
  categoryId: bigint;
  status: string;
}

export interface ReferenceServiceOptions {
  /** The one thing that the service does differently. */
  deviation?: string | undefined;
  /** The number of animals at the start. */
  animals?: number;
}

/** Every deviation that some service was asked for. */
export const ASKED = new Set<string>();

const NO_STATUS = '';

class HttpError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The response is ${status}.`);
    this.status = status;
  }
}

interface Reply {
  status: number;
  body: string;
  link?: string;
}

/**
 * A service that does exactly what the specification states, or has one deviation: a fault, or something that
 * the specification permits. It exists to test the check.
 */
class ReferenceService {
  readonly animals: Animal[] = [];
  readonly prefix: string;
  readonly #options: ReferenceServiceOptions;
  #lastId = 2n ** 60n;
  #requests = 0;

  constructor(options: ReferenceServiceOptions) {
    this.#options = options;
    this.prefix = this.#after('mounted below ') ?? '/v1';
    for (let count = 0; count < (options.animals ?? 0); count += 1) {
      this.#lastId += 1n;
      const status = PET_STATUSES[count % 3] ?? '';
      this.animals.push({ id: this.#lastId, name: `Animal ${count}`, categoryId: 7n, status });
    }
  }

  #is(deviation: string): boolean {
    ASKED.add(deviation);
    return this.#options.deviation === deviation;
  }

  /** What follows in the deviation, if it begins so. */
  #after(start: string): string | undefined {
    const { deviation = '' } = this.#options;
    if (!deviation.startsWith(start)) return undefined;
    ASKED.add(deviation);
    return deviation.slice(start.length);
  }

  respond(method: string, url: URL, authorization: string, body: string): Response {
    this.#requests += 1;
    if (this.#is('stops responding') && this.#requests > 20) throw connectionLost();
    const { status, body: text, link } = this.#reply(method, url, authorization, body);
    const type = this.#after('sends the type ') ?? 'application/json; charset=utf-8';
    const headers = new Headers({ 'content-type': type, ...(link !== undefined && { link }) });
    if (this.#is('sends a header of its own')) headers.set('x-own', '1');
    return new Response(text, { status, headers });
  }

  #reply(method: string, url: URL, authorization: string, body: string): Reply {
    try {
      this.#authenticate(authorization);
      if (this.#is('throttles') && this.#requests % 5 === 0) throw new HttpError(429);
      return this.#route(method, url, body);
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      return { status: error.status, body: this.#errorBody(error.status) };
    }
  }

  #authenticate(header: string): void {
    if (this.#is('requires no key')) return;
    const basic = `Basic ${Buffer.from(`petstore:${KEY}`).toString('base64')}`;
    if (this.#is('accepts Basic') && header === basic) return;
    if (this.#is('accepts the bare key') && header === KEY) return;
    const start = `Bearer ${KEY.slice(0, -1)}`;
    if (this.#is('compares only the beginning of keys') && header.startsWith(start)) return;
    const isRight = header === `Bearer ${KEY}` && !this.#is('refuses Bearer');
    if (!isRight) throw new HttpError(this.#is('responds 403 for 401') ? 403 : 401);
  }

  #route(method: string, { pathname, searchParams }: URL, body: string): Reply {
    const path = pathname.slice(this.prefix.length);
    if (method === 'POST' && path === '/pets') return this.#create(body);
    if (method === 'GET' && path === '/pets') return this.#list(searchParams);
    const id = /^\/pets\/(-?\d+)$/.exec(path)?.[1];
    if (method !== 'GET' || id === undefined) throw new HttpError(404);
    return this.#get(BigInt(id));
  }

  #list(query: URLSearchParams): Reply {
    if (this.#is('fails on lists')) throw new HttpError(500);
    const status = query.get('status');
    if (status !== null && this.#is('refuses every filter')) throw new HttpError(400);
    const limit = this.#limit(query.get('limit'));
    if (limit === 1 && this.#is('adds an animal before every list of one')) this.#store({});
    // The specification states no order. New animals come first unless the deviation says otherwise.
    let animals = this.#is('lists the oldest first') ? this.animals : this.animals.toReversed();
    if (status !== null && !this.#is('ignores the filter')) {
      const isKnown =
        PET_STATUSES.some((each) => each === status) ||
        this.#is('finds nothing for an unknown status');
      if (!isKnown) throw new HttpError(400);
      const isLost = this.#is('loses the filter beside a limit of 1') && limit === 1;
      animals = animals.filter((animal) => (animal.status === status) !== isLost);
    }
    if (status !== null && this.#is('finds nothing by filter')) animals = [];
    if (status !== null && this.#is('hides the newest animal from filters')) {
      animals = animals.filter((animal) => animal !== this.animals.at(-1));
    }
    if (status !== null && this.#is('hides the oldest animal from filters')) {
      animals = animals.filter((animal) => animal !== this.animals[0]);
    }
    const from = Number(query.get('from') ?? 0);
    if (!(from >= 0)) throw new HttpError(400);
    const link = this.#linkPages(query, { from, limit, count: animals.length });
    const page = animals.slice(from, from + limit).map((animal) => this.#show(animal, 'list'));
    if (this.#is('lists an animal twice') && page.length > 1) page[1] = page[0] ?? '';
    const body = `[${page.join()}]`;
    return { status: 200, body: this.#is('wraps the list') ? `{"items":${body}}` : body, ...link };
  }

  /** Pages of an offset: the simplest that can be linked. */
  #linkPages(
    query: URLSearchParams,
    { from, limit, count }: { from: number; limit: number; count: number },
  ): Pick<Reply, 'link'> {
    if (this.#is('links to no other page') || limit === Infinity) return {};
    const path = this.#is('links to pages elsewhere') ? '/animals' : `${this.prefix}/pets`;
    const linkTo = (rel: string, start: number, size: number): string => {
      const target = new URLSearchParams(query);
      target.set('limit', String(size));
      target.set('from', this.#is('links to a page that it refuses') ? 'nowhere' : String(start));
      return `<${path}?${target.toString()}>; rel="${rel}"`;
    };
    const links = [linkTo('last', Math.max(0, count - limit), limit)];
    const before = Math.max(0, from - limit);
    const isSame = (fault: string, start: number) => (this.#is(fault) ? from : start);
    if (from + limit < count) {
      links.push(linkTo('next', isSame('links as next to the same page', from + limit), limit));
    }
    if (from > 0 && !this.#is('links to no page before')) {
      links.push(linkTo('prev', isSame('links as prev to the same page', before), from - before));
    }
    return { link: links.join(', ') };
  }

  #limit(text: string | null): number {
    if (this.#is('ignores the limit')) return Infinity;
    if (text === null && this.#is('lists 10 by default')) return 10;
    if (text === null && this.#is('lists 50 by default')) return 50;
    const limit = Number(text ?? 20);
    const isRight = Number.isInteger(limit) && limit >= 1 && limit <= 100;
    if (limit === 20 && text !== null && this.#is('lists 19 for a limit of 20')) return 19;
    if (isRight && !(limit === 100 && this.#is('refuses the limit 100'))) return limit;
    if (this.#is('reads a bad limit as no limit')) return Infinity;
    if (this.#is('clamps the limit')) return limit > 100 ? 100 : 1;
    throw new HttpError(this.#is('fails on a bad limit') ? 500 : 400);
  }

  #get(id: bigint): Reply {
    if (this.#is('has removed getPet')) throw new HttpError(410);
    if (!isInt64(id)) throw new HttpError(400);
    if (this.#is('closes the connection on a get')) throw connectionLost();
    if (id < 0n && this.#is('responds 400 to a negative id')) throw new HttpError(400);
    const isFirst =
      this.#is('fetches the first animal always') || this.#is('responds 200 to an unknown id');
    const found = this.animals.find((animal) => animal.id === id);
    const animal = isFirst ? this.animals[0] : found;
    if (animal === undefined) throw new HttpError(404);
    return { status: 200, body: this.#show(animal, 'get') };
  }

  #create(text: string): Reply {
    if (this.#is('has given a key that may only read')) throw new HttpError(403);
    const animal = this.#store(this.#parse(text));
    const status = this.#is('responds 200 to a create') ? 200 : 201;
    return { status, body: this.#show(animal, 'create') };
  }

  #parse(text: string): Partial<Animal> {
    if (this.#is('accepts an empty body') && text === '') return {};
    const read = this.#is('keeps escapes in names') ? text.replaceAll('\\u', '\\\\u') : text;
    try {
      return this.#validate(parseJson(read));
    } catch {
      if (this.#is('accepts anything')) return {};
      this.#storeRefused(text);
      throw new HttpError(this.#is('responds 422 for 400') ? 422 : 400);
    }
  }

  #storeRefused(text: string): void {
    const name = /petstore-check[^"]*/.exec(text)?.[0] ?? 'refused';
    const categoryId = BigInt(/\d{13,15}/.exec(text)?.[0] ?? 1);
    if (this.#is('stores names that it refuses')) this.#store({ name });
    if (this.#is('stores categories that it refuses')) this.#store({ categoryId });
  }

  #validate(body: unknown): Partial<Animal> {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new Error('body');
    const { id, name, categoryId, status } = body as Record<string, unknown>;
    if (typeof name !== 'string') throw new Error('name');
    if (!isInt64(categoryId)) throw new Error('categoryId');
    const isExtreme = categoryId === INT64_MAX || categoryId === INT64_MIN;
    if (isExtreme && this.#is('refuses large categories')) throw new Error('categoryId');
    if (categoryId !== 7n && this.#is('looks categories up')) throw new Error('categoryId');
    if (/[^ -~]/.test(name) && this.#is('takes names in ASCII only')) throw new Error('name');
    if (id !== undefined && this.#is('refuses an id')) throw new Error('id');
    if (status === undefined && this.#is('requires a status')) throw new Error('status');
    const fallback = this.#is('gives no status where none was sent') ? NO_STATUS : 'available';
    const known = status === undefined ? fallback : PET_STATUSES.find((each) => each === status);
    if (known === undefined && !this.#is('accepts any status')) throw new Error('status');
    const chosen = typeof id === 'bigint' && this.#is('takes the id of the client') ? { id } : {};
    return { name, categoryId, status: known ?? 'available', ...chosen };
  }

  #store({
    id,
    name = 'nameless',
    categoryId = 1n,
    status = 'available',
  }: Partial<Animal>): Animal {
    if (!this.#is('gives an id twice')) this.#lastId += 1n;
    const animal = { id: id ?? this.#lastId, name, categoryId, status };
    // Names with other characters are kept, so that only a clause about plain names detects it.
    if (this.#is('changes names') && /^[ -~]*$/.test(name)) animal.name += '!';
    if (this.#is('trims names')) animal.name = name.trim();
    if (this.#is('changes categories')) animal.categoryId = categoryId === 7n ? 8n : categoryId;
    if (this.#is('rounds categories')) animal.categoryId = BigInt.asIntN(54, categoryId);
    if (this.#is('stores every animal as sold')) animal.status = 'sold';
    if (this.#is('stores every animal as available')) animal.status = 'available';
    if (!this.#is('forgets what it added')) this.animals.push(animal);
    return animal;
  }

  #show({ id, name, categoryId, status }: Animal, where: 'list' | 'get' | 'create'): string {
    const shownId = this.#is('sends ids outside int64') ? id + 2n ** 63n : id;
    const parts = [
      `"id":${this.#is('sends ids as strings') ? `"${id}"` : shownId}`,
      `"name":${JSON.stringify(name)}`,
      `"categoryId":${this.#is('sends categories as strings') ? `"${categoryId}"` : categoryId}`,
      `"status":"${this.#is('shows another status') ? 'lost' : status}"`,
    ];
    if (where === 'get') {
      if (this.#is('fetches under another id')) parts[0] = '"id":1';
      if (this.#is('fetches under another name')) parts[1] = '"name":"Other"';
      if (this.#is('fetches under another category')) parts[2] = '"categoryId":1';
      if (this.#is('fetches under another status')) parts[3] = '"status":"pending"';
    }
    if (where === 'list' && this.#is('lists without names')) parts.splice(1, 1);
    if (status === NO_STATUS) parts.splice(3, 1);
    if (this.#is('adds a field to animals')) parts.push('"owner":null');
    return `{${parts.join()}}`;
  }

  #errorBody(status: number): string {
    const parts = [
      '"code":"refused"',
      `"message":"Refused with ${status}."`,
      `"status":${this.#is('sends another status in errors') ? 400 + ((status + 1) % 100) : status}`,
    ];
    if (this.#is('sends errors without code')) parts.splice(0, 1);
    if (this.#is('sends errors without message')) parts.splice(1, 1);
    if (this.#is('sends the status of errors as a string')) parts[2] = `"status":"${status}"`;
    if (this.#is('sends errors with a fourth field')) parts.push('"path":"/pets"');
    if (this.#is('sends errors without a body')) return '';
    return this.#is('sends errors that are not JSON') ? 'Sorry.' : `{${parts.join()}}`;
  }
}

/** As fetch fails. */
function connectionLost(): TypeError {
  return new TypeError('fetch failed', { cause: new Error('other side closed') });
}

/** Lets `fetch` reach a service that has its animals in memory. Returns its address, and the methods of all requests. */
export function openReferenceService(options: ReferenceServiceOptions) {
  const service = new ReferenceService(options);
  const methods: string[] = [];
  mock.method(globalThis, 'fetch', async (url: string, { method, headers, body }: RequestInit) => {
    methods.push(String(method));
    const authorization = new Headers(headers).get('authorization') ?? '';
    return service.respond(
      String(method),
      new URL(url),
      authorization,
      typeof body === 'string' ? body : '',
    );
  });
  return { base: `http://pets.example${service.prefix}`, methods };
}
