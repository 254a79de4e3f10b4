import { Refusal } from '../domain/errors.ts';
import type { Log } from '../ops/log.ts';
import type { Cors } from './cors.ts';
import {
  errorResponse,
  FAILED,
  helpLinks,
  insufficientScope,
  methodNotAllowed,
  notFound,
} from './error-response.ts';
import type { KeyUses } from './key-uses.ts';
import {
  allow,
  JSON_MEDIA_TYPE,
  requestIdOf,
  type Handler,
  type HttpRequest,
  type HttpResponse,
} from './message.ts';
import type { Deprecation, Endpoint, OperationParts, RequestContext } from './operation.ts';
import { deprecationHeaders, operations } from './operations.ts';
import { respondWithPage, type PublicPages } from './pages.ts';
import { rateLimitHeaders, rateLimited, type CountRequest } from './rate-limit.ts';
import { RequestLog } from './request-log.ts';
import { ALL_METHODS, findRoute, isInInterface, isOfConsole, type Route } from './router.ts';
import { parseTarget } from './target.ts';

export interface AppParts extends OperationParts {
  keyUses: KeyUses;
  /** Undefined if no rate limit is configured. */
  countRequest: CountRequest | undefined;
  /** Undefined if no origin is configured. */
  cors: Cors | undefined;
  pages: PublicPages;
  log: Log;
  /** Undefined if it is off. */
  accessLog?: Log | undefined;
  newRequestId: () => string;
}

const STRICT_APPLIED = Object.freeze(['Preference-Applied', 'handling=strict']);
const STRICT = /(?:^|[,;])\s*handling\s*=\s*"?strict"?\s*(?:[,;]|$)/i;

/** The core of the service: responds to every request, and never throws. */
export class App implements Handler {
  readonly #parts: AppParts;
  readonly #requestLog: RequestLog;
  readonly #deprecationHeaders: ReadonlyMap<Endpoint | undefined, readonly string[]>;
  readonly #helpLink: ReturnType<typeof helpLinks>;

  constructor(parts: AppParts) {
    this.#parts = parts;
    this.#requestLog = new RequestLog(parts.log, parts.accessLog);
    this.#helpLink = helpLinks(parts.baseUrl);
    this.#deprecationHeaders = new Map(
      operations.map((each) => [each, Object.freeze(deprecationHeaders(each, parts.baseUrl))]),
    );
  }

  async handle(request: HttpRequest): Promise<HttpResponse> {
    const { clock, metrics, newRequestId } = this.#parts;
    metrics.requestStarted();
    const { prefer } = request.headers;
    const requestId = requestIdOf(request.headers, newRequestId);
    const context: RequestContext = {
      request,
      requestId,
      startedMs: clock.elapsedMs(),
      isStrict: prefer !== undefined && STRICT.test(prefer),
      query: '',
      pathParameter: '',
      operation: undefined,
      route: '',
      isOfConsole: false,
      petId: undefined,
      keyId: '',
      headers: [['X-Request-Id', requestId]],
    };
    try {
      return this.#finish(context, await this.#respond(context));
    } catch (error) {
      return this.#finish(context, responseToError(error, context.operation), error);
    }
  }

  bodyBytesMax(target: string): number | undefined {
    const [route] = findRoute(parseTarget(target).path) ?? [];
    return route?.byMethod.get('POST')?.bodyBytesMax;
  }

  /** The order of the checks is the order of the lines. */
  async #respond(context: RequestContext): Promise<HttpResponse> {
    const { request, headers } = context;
    const { method } = request;
    const { pages, authenticate, keyUses, countRequest } = this.#parts;

    if (request.fault !== undefined) throw request.fault;
    if (method === 'OPTIONS' && request.target === '*') {
      return this.#respondToOptions(request, ALL_METHODS);
    }
    const { path, query } = parseTarget(request.target);
    const [route, pathParameter = ''] = findRoute(path) ?? [];
    context.route = route?.path ?? (pages.has(path) ? path : '');
    context.isOfConsole = isOfConsole(path);
    if (!isInInterface(path) && !context.isOfConsole) return respondWithPage(pages, request, path);
    if (method === 'OPTIONS' && route !== undefined) {
      if (context.isOfConsole) return allow(this.#methodsOf(route));
      return this.#respondToOptions(request, this.#methodsOf(route));
    }

    const operation = route?.byMethod.get(method);
    context.operation = operation;
    headers.push(this.#deprecationHeaders.get(operation) ?? []);

    const caller = await authenticate(request);
    request.hasAcceptedKey = true;
    context.keyId = caller.id;
    keyUses.note(caller.id);
    const usage = await countRequest?.(caller.id);
    if (usage !== undefined) headers.push(rateLimitHeaders(usage));

    if (route === undefined) return notFound();
    if (operation === undefined) return methodNotAllowed(this.#methodsOf(route));
    const { scope, deprecation } = operation;
    if (scope !== undefined && !caller.scopes.includes(scope)) return insufficientScope(scope);
    if (usage !== undefined && usage.left < 0) return rateLimited(usage);

    if (deprecation !== undefined) {
      keyUses.noteDeprecatedCall(caller.id);
      if (this.#isRemoved(operation)) return operationRemoved(deprecation);
    }
    if (context.isStrict) headers.push(STRICT_APPLIED);
    context.query = query;
    context.pathParameter = pathParameter;
    return operation.handler(context, this.#parts);
  }

  #isRemoved({ deprecation }: Endpoint): boolean {
    return deprecation !== undefined && this.#parts.clock.now() >= deprecation.removedAt;
  }

  /** The value of `Allow`. */
  #methodsOf({ byMethod }: Route): string[] {
    const methods = [...byMethod].filter(([, operation]) => !this.#isRemoved(operation));
    return [...methods.map(([method]) => method), 'OPTIONS'];
  }

  /** OPTIONS needs no key. */
  #respondToOptions(request: HttpRequest, methods: readonly string[]): HttpResponse {
    return allow(methods, this.#parts.cors?.preflightHeaders(request, methods));
  }

  #finish(context: RequestContext, response: HttpResponse, error?: unknown): HttpResponse {
    const { clock, metrics, cors } = this.#parts;
    const { request, startedMs, operation } = context;
    const { status, headers, body, isBinary, code } = response;
    const durationMs = clock.elapsedMs() - startedMs;
    metrics.requestEnded(operation?.id ?? 'other', status, durationMs);
    // A 503 without an error is /readyz before a planned stop.
    if (code !== undefined && (status < 500 || error !== undefined)) metrics.error(code);
    this.#requestLog.add(context, { response, durationMs, error });
    if (code !== undefined) context.headers.push(this.#helpLink(code));
    if (cors !== undefined && !context.isOfConsole) context.headers.push(cors.headers(request));
    const { requestId, headers: moreHeaders } = context;
    return { status, headers, moreHeaders, body, isBinary, requestId };
  }
}

function responseToError(error: unknown, operation: Endpoint | undefined): HttpResponse {
  if (!(error instanceof Refusal)) return errorResponse('internal_error', FAILED);
  // Of these errors only `unsupported_media_type` has a header whose value is that of the request.
  const accepted = (operation?.accepts ?? [JSON_MEDIA_TYPE]).join(', ');
  return errorResponse(error.code, error.message, accepted);
}

function operationRemoved({ removedAt, successorPath }: Deprecation): HttpResponse {
  const day = removedAt.toISOString().slice(0, 10);
  return errorResponse(
    'operation_removed',
    `This operation was removed on ${day}; use GET ${successorPath} with the status filter.`,
  );
}
