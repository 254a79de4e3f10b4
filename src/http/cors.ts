import { emptyResponse, type HttpRequest, type HttpResponse } from './message.ts';

const EXPOSED =
  'Link, ETag, Location, Deprecation, Sunset, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, Idempotency-Replayed, Preference-Applied';
const ALLOWED_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, If-None-Match, Prefer, X-Request-Id, traceparent';
const PREFLIGHT_SECONDS = 600;

/** What browsers of other origins are told. Without configured origins, nothing at all. */
export class Cors {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** For every response: caches must know that the response depends on the origin. */
  headers(request: HttpRequest): string[] {
    if (this.#origins.size === 0) return [];
    const { origin } = request.headers;
    if (origin === undefined || !this.#origins.has(origin)) return ['Vary', 'Origin'];
    return [
      'Vary',
      'Origin',
      'Access-Control-Allow-Origin',
      origin,
      'Access-Control-Expose-Headers',
      EXPOSED,
    ];
  }

  /** The response to OPTIONS, which needs no key; a preflight of a configured origin is told what it may send. */
  options(request: HttpRequest, methods: readonly string[]): HttpResponse {
    const allow = methods.join(', ');
    const { origin } = request.headers;
    const isPreflight =
      origin !== undefined &&
      this.#origins.has(origin) &&
      request.headers['access-control-request-method'] !== undefined;
    const preflight = [
      'Access-Control-Allow-Methods',
      allow,
      'Access-Control-Allow-Headers',
      ALLOWED_HEADERS,
      'Access-Control-Max-Age',
      String(PREFLIGHT_SECONDS),
    ];
    return emptyResponse(204, ['Allow', allow, ...(isPreflight ? preflight : [])]);
  }
}
