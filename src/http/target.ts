import { Refusal, shownNames } from '../domain/errors.ts';
import type { QueryValues } from '../domain/page.ts';
import type { RequestContext } from './operation.ts';

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

/** What stands before `/v1` in the base URL of the interface: the address of the pages, without a slash at its end. */
export function siteOf(baseUrl: string): string {
  return baseUrl.replace(/\/v1$/, '');
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path.replaceAll(/%2f/gi, '%252F'));
  } catch {
    return path;
  }
}

export interface Query {
  /** Of the parameters that the operation has. */
  values: QueryValues;
  hasUnknown: boolean;
  /** Names the unknown parameters, if the caller asked for strict handling. Without it they are ignored. */
  unknownFault: Refusal | undefined;
}

/** Parses the query parameters of the operation. */
export function parseQuery({
  query,
  operation,
  isStrict,
}: Pick<RequestContext, 'query' | 'operation' | 'isStrict'>): Query {
  if (query === '') return { values: new Map(), hasUnknown: false, unknownFault: undefined };
  const known = operation?.parameters.filter((each) => each.in === 'query') ?? [];
  const names = known.map(({ name }) => name);
  const values = new Map<string, string[]>();
  const unknown: string[] = [];
  // URLSearchParams would drop a leading question mark, which is part of the first name here.
  for (const [name, value] of new URLSearchParams(query.startsWith('?') ? `&${query}` : query)) {
    if (names.includes(name)) values.set(name, [...(values.get(name) ?? []), value]);
    else unknown.push(name);
  }
  const hasUnknown = unknown.length > 0;
  const message = `Unknown query parameters: ${shownNames(unknown)}; this operation has ${names.join(', ') || 'none'}.`;
  const unknownFault =
    hasUnknown && isStrict ? new Refusal('unknown_parameter', message) : undefined;
  return { values, hasUnknown, unknownFault };
}

/** For an operation without query parameters: whether the query has any, which strict handling refuses. */
export function hasUnknownParameters(context: RequestContext): boolean {
  const { hasUnknown, unknownFault } = parseQuery(context);
  if (unknownFault !== undefined) throw unknownFault;
  return hasUnknown;
}
