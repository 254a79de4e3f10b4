// Types alone: a browser that is served the library file by file never fetches this one.

export type PetStatus = 'available' | 'pending' | 'sold';

/** An animal as the service keeps it. The numbers are int64, and exact. */
export interface Pet {
  id: bigint;
  name: string;
  categoryId: bigint;
  status: PetStatus;
}

/** An animal to add. A plain number is fine as long as JavaScript holds it exactly. */
export interface NewPet {
  name: string;
  categoryId: number | bigint;
  /** `available` when left out. */
  status?: PetStatus | undefined;
}

/** One page of a list. Hand `nextCursor` to `page()` for the one that follows; the last page has none. */
export interface PetPage {
  pets: Pet[];
  nextCursor: string | undefined;
}

export interface PetStoreOptions {
  /** The service's base address with its prefix, such as `https://pets.example/v1`. */
  baseUrl: string;
  apiKey: string;
  /** Sends the requests instead of the runtime's own fetch. */
  fetch?: typeof globalThis.fetch | undefined;
  /** How long one attempt may take. Default: 10,000. */
  timeoutMs?: number | undefined;
  /** How long a call may take with all its attempts and pauses. Default: 60,000. */
  totalTimeoutMs?: number | undefined;
  /** How often a call is sent again after 429, 503 or a lost answer. Default: 4. */
  retries?: number | undefined;
  /** The longest pause before the first retry; it doubles with each one. Default: 200. */
  backoffMs?: number | undefined;
  /** Told once for each operation that the service calls deprecated. Default: console.warn. */
  warn?: ((message: string) => void) | undefined;
}

export interface CallOptions {
  /** Ends the call at once, between attempts too; the call then throws the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface ListOptions extends CallOptions {
  status?: PetStatus | undefined;
  /** How many animals a page holds: 1 to 100, 20 when left out. */
  limit?: number | undefined;
}

export interface CreateOptions extends CallOptions {
  /** Names this creation, so that it happens once however often it is sent. Default: a random one. */
  idempotencyKey?: string | undefined;
}

/** The three operations on animals. */
export interface Pets {
  /** The animals in ascending order of id: all of them with `for await`, or one page with `page()`. */
  list(options?: ListOptions): PetList;

  /** Adds one animal, and only one: also when an answer is lost and it has to be sent again. */
  create(pet: NewPet, options?: CreateOptions): Promise<Pet>;

  /**
   * Fetches one animal.
   *
   * @deprecated The service removes this operation on 5 December 2030. Use `list({ status })` instead.
   */
  get(id: number | bigint, options?: CallOptions): Promise<Pet>;
}

/** A list that is fetched as it is read: never more than one page is in memory. */
export interface PetList extends AsyncIterable<Pet> {
  /** The first page, or the one that follows the page with that `nextCursor`. */
  page(cursor?: string): Promise<PetPage>;
}

/** The codes that the service answers with. */
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

/** The codes of faults that the service did not report itself. */
export type ClientErrorCode = 'connection_lost' | 'timed_out' | 'unreadable_answer';

/** A later service may know more codes than this library; editors still offer the known ones. */
export type ErrorCode = ServiceErrorCode | ClientErrorCode | (string & Record<never, never>);

export interface ErrorDetails {
  status?: number | undefined;
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** How to reach the service, and how patiently. */
export interface Connection {
  baseUrl: string;
  apiKey: string;
  fetch: typeof globalThis.fetch;
  timeoutMs: number;
  totalTimeoutMs: number;
  retries: number;
  backoffMs: number;
  /** Sees the headers of every answer, also of those that are errors. */
  onAnswer: (operation: string, headers: Headers) => void;
}

/** One operation as it is asked for; it must be safe to send more than once. */
export interface Call {
  operation: string;
  path: string;
  /** GET when left out. */
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  signal?: AbortSignal | undefined;
}

/** Makes a result of a good answer, and throws when the answer is not what it should be. */
export type Read<Result> = (json: unknown, headers: Headers) => Result;
