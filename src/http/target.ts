import { Refusal, shownNames } from '../domain/errors.ts';
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

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path.replaceAll(/%2f/gi, '%252F'));
  } catch {
    return path;
  }
}

export interface Query {
  /** By name, those that the operation has. */
  values: Readonly<Record<string, string>>;
  hasUnknown: boolean;
}

/**
 * Parses the query parameters of the operation. A repeated parameter is refused, because it is unclear which
 * value counts. An unknown parameter is refused only if the caller asked for strict handling.
 */
export function parseQuery({
  query,
  operation,
  isStrict,
}: Pick<RequestContext, 'query' | 'operation' | 'isStrict'>): Query {
  if (query === '') return { values: {}, hasUnknown: false };
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
  return { values, hasUnknown: unknown.length > 0 };
}
