import type { Clock } from '../domain/clock.ts';
import { Refusal } from '../domain/errors.ts';
import type { Store } from '../domain/store.ts';
import type { Log } from '../ops/log.ts';
import type { Metrics } from '../ops/metrics.ts';
import type { Authenticate } from './authenticate.ts';
import type { Cors } from './cors.ts';
import {
  deprecationHeaders,
  GET_PET_DEPRECATION,
  isRemoved,
  operationRemoved,
} from './deprecation.ts';
import { errorResponse, insufficientScope } from './error-response.ts';
import { whenThere, type Later } from './later.ts';
import type { HttpRequest, HttpResponse } from './message.ts';
import { operations, type Operation } from './operations.ts';
import type { PageCache } from './page-cache.ts';
import type { Pages } from './pages.ts';
import type { OperationCall } from './pets.ts';
import { parseQuery } from './query.ts';
import type { RateVerdict } from './rate-limit.ts';
import { RequestLog, type Passage } from './request-log.ts';
import { requestIdOf } from './request-id.ts';
import { ALL_METHODS, findRoute, parseTarget, PREFIX, type Route, type Target } from './router.ts';

export interface AppParts {
  store: Store;
  authenticate: Authenticate;
  countRequest: ((keyId: string) => Later<RateVerdict>) | undefined;
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

const STRICT = /(?:^|[,;])\s*handling\s*=\s*"?strict"?\s*(?:[,;]|$)/i;
const QUERY_NAMES = Object.fromEntries(
  operations.map(({ id, parameters }) => [
    id,
    parameters.filter((each) => each.in === 'query').map((each) => each.name),
  ]),
) as Record<Operation['id'], string[]>;

export type Handle = (request: HttpRequest) => Later<HttpResponse>;

/**
 * The core of the service: a request becomes a response, and nothing is ever thrown. The order of the
 * checks is the order of the lines: key, route, scope, rate, then whatever the operation itself refuses.
 */
export class App {
  readonly #parts: AppParts;
  readonly #deprecated: readonly string[];
  readonly #requestLog: RequestLog;

  constructor(parts: AppParts) {
    this.#parts = parts;
    this.#deprecated = deprecationHeaders(GET_PET_DEPRECATION, parts.baseUrl);
    this.#requestLog = new RequestLog(parts.log);
  }

  handle(request: HttpRequest): Later<HttpResponse> {
    const { clock, metrics, newRequestId } = this.#parts;
    metrics.requestStarted();
    const passage: Passage = {
      startedMs: clock.elapsedMs(),
      requestId: requestIdOf(request.headers, newRequestId),
      operation: undefined,
      keyId: undefined,
      headers: [],
    };
    const finish = (answer: HttpResponse) => this.#finish(request, passage, answer, undefined);
    const fail = (fault: unknown) => this.#finish(request, passage, refusalOf(fault), fault);
    try {
      const answer = this.#admit(request, passage);
      return answer instanceof Promise ? answer.then(finish, fail) : finish(answer);
    } catch (fault) {
      return fail(fault);
    }
  }

  #admit(request: HttpRequest, passage: Passage): Later<HttpResponse> {
    const { cors, pages, authenticate } = this.#parts;
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
    if (operation?.deprecation !== undefined) passage.headers.push(...this.#deprecated);
    return whenThere(authenticate(request.headers.authorization), (caller) => {
      passage.keyId = caller.id;
      return whenThere(this.#parts.countRequest?.(caller.id), (rate) => {
        if (rate !== undefined) passage.headers.push(...rate.headers);
        if (route === undefined) return errorResponse('route_not_found', 'There is nothing here.');
        if (operation === undefined) return methodNotAllowed(route);
        if (!caller.scopes.includes(operation.scope)) return insufficientScope(operation.scope);
        if (rate?.refusal !== undefined) return rate.refusal;
        return this.#perform(operation, { request, caller, target, route, passage });
      });
    });
  }

  #perform(operation: Operation, admitted: Admitted): Later<HttpResponse> {
    const { store, cache, clock, baseUrl, metrics } = this.#parts;
    const { request, caller, target, route, passage } = admitted;
    if (operation.deprecation !== undefined) {
      metrics.deprecatedCall(caller.id);
      if (isRemoved(operation.deprecation, clock.now())) {
        return operationRemoved(operation.deprecation);
      }
    }
    const { prefer } = request.headers;
    const isStrict = prefer !== undefined && STRICT.test(prefer);
    const readQuery = () =>
      parseQuery(target.query, QUERY_NAMES[operation.id], { refuseUnknown: isStrict });
    if (isStrict) passage.headers.push('Preference-Applied', 'handling=strict');
    const { pathParameter } = route;
    return operation.perform({
      request,
      caller,
      readQuery,
      pathParameter,
      isStrict,
      store,
      cache,
      clock,
      baseUrl,
      metrics,
    });
  }

  #finish(
    request: HttpRequest,
    passage: Passage,
    { status, headers, body, encoding }: HttpResponse,
    fault: unknown,
  ): HttpResponse {
    const { clock, metrics, cors } = this.#parts;
    const durationMs = clock.elapsedMs() - passage.startedMs;
    metrics.requestEnded(passage.operation?.id ?? 'other', status, durationMs);
    this.#requestLog.add(request, passage, { status, durationMs, fault });
    const all = [
      ...headers,
      'X-Request-Id',
      passage.requestId,
      'X-Content-Type-Options',
      'nosniff',
      ...passage.headers,
      ...cors.headers(request),
    ];
    return { status, headers: all, body, encoding };
  }
}

interface Admitted extends Pick<OperationCall, 'request' | 'caller'> {
  target: Target;
  route: Route;
  passage: Passage;
}

function refusalOf(fault: unknown): HttpResponse {
  return fault instanceof Refusal
    ? errorResponse(fault.code, fault.message)
    : errorResponse('internal_error', 'Something went wrong on our side.');
}

function methodNotAllowed(route: Route): HttpResponse {
  const allow = route.methods.join(', ');
  return errorResponse('method_not_allowed', `This path has ${allow}.`, ['Allow', allow]);
}
