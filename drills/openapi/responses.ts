import { isDeepStrictEqual } from 'node:util';
import { parseJson } from '../../sdk/src/json.ts';
import { findDeclared, type DeclaredResponse, type OpenApiDocument } from './document.ts';
import { isStrict, type Model, type ModelPet, type Page, type Sending } from './model.ts';
import { Schemas } from './json-schema.ts';

export interface Received {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: string;
}

export interface Expected {
  status: number;
  isRateLimited: boolean;
  isReplay: boolean;
}

/** Headers of HTTP itself, which the document need not declare. */
const GENERAL_HEADERS = [
  'connection',
  'content-length',
  'content-type',
  'date',
  'x-content-type-options',
];
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Throws at the first difference between a response and the document. */
export class ResponseCheck {
  readonly #document: OpenApiDocument;
  readonly #schemas: Schemas;
  readonly #model: Model;

  constructor(document: OpenApiDocument, model: Model) {
    this.#document = document;
    this.#schemas = new Schemas(document.components.schemas);
    this.#model = model;
  }

  check(sending: Sending, received: Received, expected: Expected): void {
    const { status } = received;
    require(status < 500, `the status is ${status}: ${received.body}`);
    require(status ===
      expected.status, `the status is ${status} instead of ${expected.status}: ${received.body}`);
    const declared = findDeclared(this.#document, sending.operation, status);
    if (declared === undefined) throw new Error(`the status ${status} is not declared`);
    this.#checkHeaders(sending, received, declared, expected);
    this.#checkBody(sending, received, declared);
  }

  #checkHeaders(
    sending: Sending,
    { status, headers }: Received,
    declared: DeclaredResponse,
    expected: Expected,
  ): void {
    const names = Object.keys(declared.headers ?? {});
    const allowed = [...GENERAL_HEADERS, ...names.map((name) => name.toLowerCase())];
    const undeclared = Object.keys(headers).find((name) => !allowed.includes(name));
    require(undeclared === undefined, `the header ${undeclared} of ${status} is not declared`);
    for (const name of names) {
      const isPresent = headers[name.toLowerCase()] !== undefined;
      const isExpected = this.#isHeaderExpected(name, sending, expected);
      require(isPresent ===
        isExpected, `the header ${name} of ${status} is ${isPresent ? 'present' : 'missing'}`);
    }
    for (const name of ['Deprecation', 'Sunset', 'Accept-Post']) {
      const value = headers[name.toLowerCase()];
      const { example } = this.#document.components.headers[name] ?? {};
      require(value === undefined || value === example, `the header ${name} is ${value}`);
    }
    const cacheControl = status === 200 || status === 304 ? 'private, no-cache' : 'no-store';
    require(headers['cache-control'] === cacheControl, 'the header Cache-Control is wrong');
    const [sentId = ''] = sending.parameters['X-Request-Id'] ?? [];
    const requestId = headers['x-request-id'] ?? '';
    require(REQUEST_ID.test(sentId)
      ? requestId === sentId
      : REQUEST_ID.test(requestId), `the header X-Request-Id is ${requestId}`);
  }

  /** All declared headers are always there, but for these. */
  #isHeaderExpected(name: string, sending: Sending, expected: Expected): boolean {
    switch (name) {
      case 'RateLimit':
      case 'RateLimit-Policy':
        return expected.isRateLimited;
      case 'Preference-Applied':
        return isStrict(sending);
      case 'Idempotency-Replayed':
        return expected.isReplay;
      case 'Location':
        return !this.#model.isRemoved;
      default:
        return true;
    }
  }

  #checkBody(sending: Sending, { status, headers, body }: Received, declared: DeclaredResponse) {
    if (sending.isHead || declared.content === undefined) {
      require(body === '', `${status} has a body`);
      return;
    }
    const type = headers['content-type'] ?? '';
    const content = declared.content[type];
    if (content === undefined) throw new Error(`the media type ${type} is not declared`);
    const value = parseJson(body);
    const fault = this.#schemas.findFault(content.schema, value, 'the body');
    require(fault === undefined, `${fault} in ${body}`);
    if (status >= 400) {
      const error = value as { code: string; status: bigint };
      require(Object.keys(error).length === 3, `the Error has other fields: ${body}`);
      require(error.status === BigInt(status), `the status in the Error is ${error.status}`);
      const codes = Object.keys(content.examples ?? {});
      require(codes.includes(error.code), `the code ${error.code} of ${status} is not declared`);
    }
  }

  checkPet({ body }: Received, pet: ModelPet): void {
    requireEqual(parseJson(body), pet);
  }

  /** The cursor of the next page, or undefined if there must be none. */
  checkPage(sending: Sending, { headers, body }: Received, page: Page): string | undefined {
    const { link = '' } = headers;
    if (!sending.isHead) requireEqual(parseJson(body), page.pets);
    const hasEnds = ['first', 'last'].every((end) => link.includes(`rel="${end}"`));
    require(hasEnds, `the Link is ${link}`);
    const next = /<([^>]*)>; rel="next"/.exec(link)?.[1];
    require((next !== undefined) === page.hasNext, `the Link is ${link}`);
    return next === undefined ? undefined : (new URL(next).searchParams.get('cursor') ?? undefined);
  }
}

function requireEqual(actual: unknown, expected: unknown): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(`the body is ${text(actual)} instead of ${text(expected)}`);
}

function text(value: unknown): string {
  return JSON.stringify(value, (_name, each: unknown) =>
    typeof each === 'bigint' ? `${each}n` : each,
  );
}

export function require(isTrue: boolean, fault: string): void {
  if (!isTrue) throw new Error(fault);
}
