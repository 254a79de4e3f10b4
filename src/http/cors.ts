import type { HttpRequest } from './message.ts';

const EXPOSED =
  'Link, ETag, Location, Deprecation, Sunset, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, Idempotency-Replayed, Preference-Applied';
const ALLOWED_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, If-None-Match, Prefer, X-Request-Id, traceparent';
const PREFLIGHT_SECONDS = 600;

/** Headers that allow web pages of the configured origins to use the service. */
export class Cors {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** For every response. `Vary` tells caches that the response depends on the origin. */
  headers(request: HttpRequest): string[] {
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

  /** For the response to the preflight (OPTIONS) of a configured origin. */
  preflightHeaders({ headers }: HttpRequest, methods: readonly string[]): string[] {
    const isKnown = headers.origin !== undefined && this.#origins.has(headers.origin);
    if (!isKnown || headers['access-control-request-method'] === undefined) return [];
    return [
      'Access-Control-Allow-Methods',
      methods.join(', '),
      'Access-Control-Allow-Headers',
      ALLOWED_HEADERS,
      'Access-Control-Max-Age',
      String(PREFLIGHT_SECONDS),
    ];
  }
}
