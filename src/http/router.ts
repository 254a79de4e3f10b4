import { Refusal, shownNames } from '../domain/errors.ts';
import { methodNotAllowed, notFound } from './error-response.ts';
import {
  JSON_MEDIA_TYPE,
  NOT_FOUND,
  type HttpRequest,
  type HttpResponse,
  type PublicPages,
} from './message.ts';
import type { Operation, RequestContext } from './operation.ts';

/** The paths of the operations begin with the version of the interface. */
const PREFIX = '/v1';
const PREFIX_AND_SLASH = `${PREFIX}/`;

/** Whether a path belongs to the interface, so that a key is required. */
export function isInInterface(path: string): boolean {
  return path === PREFIX || path.startsWith(PREFIX_AND_SLASH);
}

export interface Route {
  /** With the name of its parameter. */
  path: string;
  /** By method. HEAD is handled as GET. */
  byMethod: ReadonlyMap<string, Operation>;
  pathParameter: string;
}

interface RoutePattern extends Omit<Route, 'pathParameter'> {
  /** The path up to its parameter. */
  stem: string;
  hasParameter: boolean;
}

/** Finds the operations of a path. */
export class Router {
  readonly #patterns: readonly RoutePattern[];
  /** Every method that some operation has, for `OPTIONS *`. */
  readonly allMethods: readonly string[];

  constructor(operations: readonly Operation[]) {
    this.#patterns = [...Map.groupBy(operations, ({ path }) => path)].map(newPattern);
    const methods = this.#patterns.flatMap(({ byMethod }) => [...byMethod.keys()]);
    this.allMethods = [...new Set([...methods, 'OPTIONS'])];
  }

  /** Compares the path with each pattern. There are two, so this is faster than hashing the path. */
  find(path: string): Route | undefined {
    for (const pattern of this.#patterns) {
      const { stem, hasParameter } = pattern;
      if (path === stem && !hasParameter) return { ...pattern, pathParameter: '' };
      const pathParameter = hasParameter && path.startsWith(stem) ? path.slice(stem.length) : '';
      if (pathParameter !== '' && !pathParameter.includes('/')) {
        return { ...pattern, pathParameter };
      }
    }
    return undefined;
  }
}

function newPattern([path, operations]: [string, Operation[]]): RoutePattern {
  const byMethod = new Map<string, Operation>();
  for (const operation of operations) {
    byMethod.set(operation.method, operation);
    if (operation.method === 'GET') byMethod.set('HEAD', operation);
  }
  const [stem = '', parameter] = `${PREFIX}${path}`.split('{');
  return { path: PREFIX + path, byMethod, stem, hasParameter: parameter !== undefined };
}

const PAGE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

export async function respondWithPage(
  pages: PublicPages,
  request: HttpRequest,
  path: string,
): Promise<HttpResponse> {
  const page = pages.get(path);
  if (page === undefined) {
    return (prefersHtml(request) && pages.get(NOT_FOUND)?.(request)) || notFound();
  }
  if (request.method === 'OPTIONS') return allow(PAGE_METHODS);
  return PAGE_METHODS.includes(request.method) ? page(request) : methodNotAllowed(PAGE_METHODS);
}

/** Whether the client is a browser that shows a page. */
function prefersHtml({ headers, method }: HttpRequest): boolean {
  const { accept = '' } = headers;
  const isRead = method === 'GET' || method === 'HEAD';
  return isRead && accept.includes('text/html') && !accept.includes(JSON_MEDIA_TYPE);
}

/** The response to OPTIONS. */
export function allow(methods: readonly string[], headers: readonly string[] = []): HttpResponse {
  return { status: 204, headers: ['Allow', methods.join(', '), ...headers], body: '' };
}

/**
 * Splits a request target and decodes its path. Accepts also the absolute form that proxies send. An
 * encoded slash stays encoded, because it is part of a segment and does not end it.
 */
export function parseTarget(target: string): { path: string; query: string } {
  const origin = target.startsWith('/')
    ? target
    : target.replace(/^https?:\/\/[^/?#]*(?=[/?#]|$)/i, '').replace(/^(?!\/)/, '/');
  const queryStart = origin.indexOf('?');
  const path = queryStart === -1 ? origin : origin.slice(0, queryStart);
  return {
    path: path.includes('%') ? decodePath(path) : path,
    query: queryStart === -1 ? '' : origin.slice(queryStart + 1),
  };
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path.replaceAll(/%2f/gi, '%252F'));
  } catch {
    return path;
  }
}

/**
 * Parses the query parameters of the operation. A repeated parameter is refused, because it is unclear which
 * value counts. An unknown parameter is refused only if the caller asked for strict handling.
 */
export function parseQuery({
  query,
  operation,
  isStrict,
}: Pick<RequestContext, 'query' | 'operation' | 'isStrict'>): Readonly<Record<string, string>> {
  if (query === '') return {};
  const known = operation?.parameters.filter((each) => each.in === 'query') ?? [];
  const names = known.map(({ name }) => name);
  const values: Record<string, string> = {};
  const unknown: string[] = [];
  // URLSearchParams would drop a leading question mark, which is part of the first name here.
  for (const [name, value] of new URLSearchParams(query.startsWith('?') ? `&${query}` : query)) {
    if (!names.includes(name)) {
      unknown.push(name);
    } else if (Object.hasOwn(values, name)) {
      throw new Refusal('invalid_parameter', `${name} was given twice; it must be given once.`);
    } else {
      values[name] = value;
    }
  }
  if (unknown.length > 0 && isStrict) {
    throw new Refusal(
      'unknown_parameter',
      `Unknown query parameters: ${shownNames(unknown)}; this operation has ${names.join(', ') || 'none'}.`,
    );
  }
  return values;
}
