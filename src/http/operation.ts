// What an operation is: its description, what its handler gets, and what it may use.

import type { Scope } from '../domain/api-key.ts';
import type { Clock } from '../domain/clock.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { PetChanges, PetImports, PetStore } from '../domain/store.ts';
import type { Metrics } from '../ops/metrics.ts';
import type { Authenticate } from './authenticate.ts';
import type { HttpRequest, HttpResponse } from './message.ts';
import type { ResponseCache } from './response-cache.ts';

export interface Parameter {
  name: string;
  in: 'query' | 'path' | 'header';
  /** JSON Schema with an example, like every schema here. */
  schema: object;
  description: string;
}

export interface OperationResponse {
  description: string;
  schema?: object;
  /** The headers it can have, in addition to those of every response; operations.ts describes them. */
  headers: readonly string[];
}

/** A header that a response can have. Its value is a text. */
export interface ResponseHeader {
  description: string;
  example: string;
}

/** What requests with a key can ask for. The router and the checks are derived from it. */
export interface Endpoint {
  id: string;
  method: 'GET' | 'POST';
  /** Below the prefix of its table. At most one path parameter. */
  path: string;
  /** Undefined if every key may. */
  scope: Scope | undefined;
  parameters: readonly Pick<Parameter, 'name' | 'in'>[];
  /** The media types of its body, where they are not those of JSON. */
  accepts?: readonly string[];
  /** How many bytes its body may have, where it is not the usual number. */
  bodyBytesMax?: number;
  /** Its statuses, besides those of its errors. */
  responses: Readonly<Record<number, unknown>>;
  /** In addition to those of every endpoint. */
  errors: readonly ErrorCode[];
  deprecation?: Deprecation;
  handler: (context: RequestContext, parts: OperationParts) => Promise<HttpResponse>;
}

/** One operation of the interface. The OpenAPI document is derived from it too. */
export interface Operation extends Endpoint {
  id: 'listPets' | 'createPet' | 'getPet';
  summary: string;
  description: string;
  scope: Scope;
  parameters: readonly Parameter[];
  body?: object;
  responses: Readonly<Record<number, OperationResponse>>;
}

/** Since when an operation is deprecated, when it is removed, and what replaces it. */
export interface Deprecation {
  since: Date;
  removedAt: Date;
  /** Relative to the base URL. */
  successorPath: string;
}

/** One request, and what the checks have found out about it so far. */
export interface RequestContext {
  readonly request: HttpRequest;
  readonly requestId: string;
  readonly startedMs: number;
  /** Whether the caller asked for `Prefer: handling=strict`. */
  readonly isStrict: boolean;
  /** The query of the target, not parsed yet. */
  query: string;
  /** The value of the path parameter. Empty if the path has none. */
  pathParameter: string;
  operation: Endpoint | undefined;
  /** The path as the service defines it, such as `/v1/pets/{petId}`. Empty if there is no such path. */
  route: string;
  /** Whether it is one of the console's own requests, which pages of other origins never see. */
  isOfConsole: boolean;
  /** The animal that was created, changed or removed. */
  petId: bigint | undefined;
  /** The id of the API key. Empty until the key is accepted. */
  keyId: string;
  /** Lists of headers that the response gets in addition to its own, whatever its status. */
  readonly headers: (readonly string[])[];
}

/** The parts of the service that the operations use. */
export interface OperationParts {
  authenticate: Authenticate;
  store: PetStore & PetChanges & PetImports;
  cache: ResponseCache;
  clock: Clock;
  metrics: Metrics;
  /** What links begin with: the configured URL for clients, or without one its path. Ends in /v1. */
  baseUrl: string;
}
