import type { Clock } from '../domain/clock.ts';
import { Refusal } from '../domain/errors.ts';
import type { Store } from '../domain/store.ts';
import type { Log } from '../ops/log.ts';
import type { Metrics } from '../ops/metrics.ts';
import type { Authenticate } from './authenticate.ts';
import type { Cors } from './cors.ts';
import { deprecationHeaders, operationRemoved } from './deprecation.ts';
import { errorResponse, insufficientScope } from './error-response.ts';
import type { HttpRequest, HttpResponse } from './message.ts';
import { operations, type Operation } from './operations.ts';
import type { PageCache } from './page-cache.ts';
import type { Pages } from './pages.ts';
import type { OperationCall } from './pets.ts';
import { parseQuery } from './query.ts';
import type { RateVerdict } from './rate-limit.ts';
import { logRequest, type Passage } from './request-log.ts';
import { ALL_METHODS, findRoute, parseTarget, PREFIX, type Route, type Target } from './router.ts';

export interface AppParts {
  store: Store;
  authenticate: Authenticate;
  countRequest: ((keyId: string) => Promise<RateVerdict>) | undefined;
  cors: Cors;
  /** What is served outside the interface, without a key. */
  pages: Pages;
  cache: PageCache;
  clock: Clock;
  baseUrl: string;
  metrics: Metrics;
  log: Log;
  newRequestId: () => string;
}

const REQUEST_ID = /^[\w.-]{1,128}$/;
const STRICT = /(?:^|[,;])\s*handling\s*=\s*"?strict"?\s*(?:[,;]|$)/i;
const QUERY_NAMES = Object.fromEntries(
  operations.map(({ id, parameters }) => [
    id,
    parameters.filter((each) => each.in === 'query').map((each) => each.name),
  ]),
) as Record<Operation['id'], string[]>;

export type Handle = (request: HttpRequest) => Promise<HttpResponse>;

/**
 * The core of the service: a request becomes a response, and nothing is ever thrown. The order of the
 * checks is the order of the lines: key, route, scope, rate, then whatever the operation itself refuses.
 */
export class App {
  readonly #parts: AppParts;

  constructor(parts: AppParts) {
    this.#parts = parts;
  }

  async handle(request: HttpRequest): Promise<HttpResponse> {
    const { clock, metrics, log, cors, newRequestId } = this.#parts;
    const startedMs = clock.elapsedMs();
    metrics.requestStarted();
    const requestId = requestIdOf(request, newRequestId);
    const passage: Passage = { operation: undefined, keyId: undefined, headers: [] };
    let answer: HttpResponse;
    let fault: unknown;
    try {
      answer = await this.#admit(request, passage);
    } catch (error) {
      fault = error;
      answer =
        error instanceof Refusal
          ? errorResponse(error.code, error.message)
          : errorResponse('internal_error', 'Something went wrong on our side.');
    }
    const { status } = answer;
    const durationMs = clock.elapsedMs() - startedMs;
    metrics.requestEnded(passage.operation?.id ?? 'other', status, durationMs);
    logRequest(log, request, passage, { requestId, status, durationMs, fault });
    const headers = [
      ...answer.headers,
      'X-Request-Id',
      requestId,
      'X-Content-Type-Options',
      'nosniff',
      ...passage.headers,
      ...cors.headers(request),
    ];
    return { status, headers, body: answer.body };
  }

  async #admit(request: HttpRequest, passage: Passage): Promise<HttpResponse> {
    const { cors, pages, authenticate, baseUrl } = this.#parts;
    const { method } = request;
    if (method === 'OPTIONS' && request.target === '*') {
      return cors.answerOptions(request, ALL_METHODS);
    }
    const target = parseTarget(request.target);
    if (target.path !== PREFIX && !target.path.startsWith(`${PREFIX}/`)) {
      return pages.answer(request, target.path);
    }
    const route = findRoute(target.path);
    if (method === 'OPTIONS' && route !== undefined) {
      return cors.answerOptions(request, route.methods);
    }
    const operation = route?.byMethod.get(method);
    passage.operation = operation;
    if (operation?.deprecation !== undefined) {
      passage.headers.push(...deprecationHeaders(operation.deprecation, baseUrl));
    }
    const caller = await authenticate(request.headers.authorization);
    passage.keyId = caller.id;
    const rate = await this.#parts.countRequest?.(caller.id);
    if (rate !== undefined) passage.headers.push(...rate.headers);

    if (route === undefined) return errorResponse('route_not_found', 'There is nothing here.');
    if (operation === undefined) return methodNotAllowed(route);
    if (!caller.scopes.includes(operation.scope)) return insufficientScope(operation.scope);
    if (rate?.refusal !== undefined) return rate.refusal;
    return this.#perform(operation, { request, caller, target, route, passage });
  }

  async #perform(operation: Operation, admitted: Admitted): Promise<HttpResponse> {
    const { store, cache, clock, baseUrl, metrics } = this.#parts;
    const { request, caller, target, route, passage } = admitted;
    if (operation.deprecation !== undefined) {
      metrics.deprecatedCall(caller.id);
      if (clock.now() >= operation.deprecation.removedAt) {
        return operationRemoved(operation.deprecation);
      }
    }
    const isStrict = STRICT.test(request.headers['prefer'] ?? '');
    const query = parseQuery(target.query, QUERY_NAMES[operation.id], { refuseUnknown: isStrict });
    if (isStrict) passage.headers.push('Preference-Applied', 'handling=strict');
    const { pathParameter } = route;
    const call = { request, caller, query, pathParameter, isStrict };
    return operation.perform({ ...call, store, cache, clock, baseUrl, metrics });
  }
}

interface Admitted extends Pick<OperationCall, 'request' | 'caller'> {
  target: Target;
  route: Route;
  passage: Passage;
}

function methodNotAllowed(route: Route): HttpResponse {
  const allow = route.methods.join(', ');
  return errorResponse('method_not_allowed', `This path has ${allow}.`, ['Allow', allow]);
}

function requestIdOf(request: HttpRequest, newRequestId: () => string): string {
  const given = request.headers['x-request-id'];
  return given !== undefined && REQUEST_ID.test(given) ? given : newRequestId();
}
