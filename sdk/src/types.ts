// Only types: a browser that loads the library file by file never loads this one.

export type PetStatus = 'available' | 'pending' | 'sold';

/**
 * An animal. The ids are exact int64 values: compare them with a bigint, as in `pet.id === 7n`.
 * `JSON.stringify` writes them as numbers with all their digits.
 */
export interface Pet {
  id: bigint;
  name: string;
  categoryId: bigint;
  status: PetStatus;
}

/** An animal to add. `categoryId` may be a number if it is a safe integer. */
export interface NewPet {
  name: string;
  categoryId: number | bigint;
  /** Default: `available`. */
  status?: PetStatus | undefined;
}

/** One page of a list. Pass `nextCursor` to `page()` of the same list for the next page; the last page has none. */
export interface PetPage {
  pets: Pet[];
  nextCursor: string | undefined;
}

export interface PetStoreOptions {
  /**
   * The base URL of the service. It ends in `/v1`, such as `https://pets.example/v1`. Default: the environment
   * variable `PETSTORE_BASE_URL`.
   */
  baseUrl?: string | undefined;
  /** Default: the environment variable `PETSTORE_API_KEY`. */
  apiKey?: string | undefined;
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
  /** The timeout of one attempt. Default: 10,000. */
  timeoutMs?: number | undefined;
  /** The timeout of a call, including retries and delays. Default: 60,000. */
  totalTimeoutMs?: number | undefined;
  /** The maximum number of retries after 429, 503 or a lost response. Default: 4. */
  retries?: number | undefined;
  /** The maximum delay before the first retry. It doubles with each retry. Default: 200. */
  backoffMs?: number | undefined;
  /** Called once for each deprecated operation that is used. Default: `console.warn`. */
  warn?: ((message: string) => void) | undefined;
}

export interface CallOptions {
  /** Cancels the call, also between attempts. The call then throws the reason of the signal. */
  signal?: AbortSignal | undefined;
}

export interface ListOptions extends CallOptions {
  status?: PetStatus | undefined;
  /** The number of animals per page, from 1 to 100. Default: 20. */
  limit?: number | undefined;
}

export interface CreateOptions extends CallOptions {
  /** Identifies this create, so that a retry does not add a second animal. Default: a random key. */
  idempotencyKey?: string | undefined;
}

/** The three operations on animals. */
export interface Pets {
  /** Lists animals in ascending order of id: `await` returns the first page, `for await` all animals. */
  list(options?: ListOptions): PetList;

  /** Adds one animal. It is added once, even if a response is lost and the library retries. */
  create(pet: NewPet, options?: CreateOptions): Promise<Pet>;

  /**
   * Returns one animal.
   *
   * @deprecated The service removes this operation on 5 December 2030. Use `list({ status })` instead.
   */
  get(id: number | bigint, options?: CallOptions): Promise<Pet>;
}

/**
 * A list of animals. It sends no request until it is used: `await` requests the first page, and `for await`
 * requests page after page and keeps one page in memory.
 */
export interface PetList extends AsyncIterable<Pet>, PromiseLike<PetPage> {
  /** Returns the first page, or the page at this cursor. */
  page(cursor?: string): Promise<PetPage>;
  /** Returns the newest animals, at most `limit`, in the order of the list. */
  last(): Promise<PetPage>;
  /** Returns the list from the newest animal to the oldest. Its cursors are its own. */
  toReversed(): PetList;
  /** Returns the animals of all pages, but at most `max` if it is given. */
  toArray(options?: { max?: number }): Promise<Pet[]>;
}

/** The error codes of the service. */
export type ServiceErrorCode =
  | 'invalid_json'
  | 'missing_field'
  | 'invalid_field'
  | 'unknown_field'
  | 'invalid_parameter'
  | 'unknown_parameter'
  | 'invalid_cursor'
  | 'invalid_idempotency_key'
  | 'malformed_request'
  | 'missing_api_key'
  | 'invalid_api_key'
  | 'expired_api_key'
  | 'insufficient_scope'
  | 'pet_not_found'
  | 'route_not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'operation_removed'
  | 'body_too_large'
  | 'uri_too_long'
  | 'unsupported_media_type'
  | 'expectation_failed'
  | 'idempotency_key_reused'
  | 'rate_limited'
  | 'headers_too_large'
  | 'internal_error'
  | 'not_implemented'
  | 'unavailable'
  | 'overloaded'
  | 'http_version_not_supported';

/** The codes of errors that the service did not report. */
export type ClientErrorCode = 'connection_lost' | 'timed_out' | 'unreadable_response';

/** Any string, because a later service may add codes. Editors suggest the known ones. */
export type ErrorCode = ServiceErrorCode | ClientErrorCode | (string & Record<never, never>);

export interface ErrorDetails {
  status?: number | undefined;
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** How to reach the service, and how long to try. */
export interface Connection {
  baseUrl: string;
  apiKey: string;
  fetch: typeof globalThis.fetch;
  timeoutMs: number;
  totalTimeoutMs: number;
  retries: number;
  backoffMs: number;
  /** Called with the headers of every response, including errors. */
  onResponse: (operation: string, headers: Headers) => void;
}

/** One request. It must be safe to send it more than once. */
export interface Call {
  operation: string;
  path: string;
  /** Default: GET. */
  method?: string;
  headers?: Record<string, string>;
  body?: string | Blob;
  signal?: AbortSignal | undefined;
}

/** Reads the result from the body of a successful response. Throws if the body is not valid. */
export type Read<Result> = (json: unknown, headers: Headers) => Result;
