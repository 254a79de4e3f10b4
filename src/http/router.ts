import { operations, type Operation } from './operations.ts';

/** Where every operation lives: the prefix of the interface version. */
export const PREFIX = '/v1';

export interface Route {
  /** By method. HEAD is answered by GET. */
  byMethod: ReadonlyMap<string, Operation>;
  /** What `Allow` says. */
  methods: readonly string[];
  pathParameter: string;
}

interface RoutePattern extends Omit<Route, 'pathParameter'> {
  /** The whole path, or what comes before its parameter. */
  stem: string;
  hasParameter: boolean;
}

const patterns: RoutePattern[] = [];

for (const [path, sharing] of Map.groupBy(operations, (operation) => operation.path)) {
  const byMethod = new Map<string, Operation>();
  for (const operation of sharing) {
    byMethod.set(operation.method, operation);
    if (operation.method === 'GET') byMethod.set('HEAD', operation);
  }
  const [stem = '', parameter] = `${PREFIX}${path}`.split('{');
  patterns.push({
    byMethod,
    methods: [...byMethod.keys(), 'OPTIONS'],
    stem,
    hasParameter: parameter !== undefined,
  });
}

/** Every method that some operation has, for `OPTIONS *`. */
export const ALL_METHODS = [...new Set(patterns.flatMap(({ methods }) => methods))];

/** Compares with each in turn: there are two, and a table of them would have to hash the path first. */
export function findRoute(path: string): Route | undefined {
  for (const { stem, hasParameter, byMethod, methods } of patterns) {
    if (!hasParameter) {
      if (path === stem) return { byMethod, methods, pathParameter: '' };
    } else if (path.startsWith(stem)) {
      const pathParameter = path.slice(stem.length);
      if (pathParameter !== '' && !pathParameter.includes('/')) {
        return { byMethod, methods, pathParameter };
      }
    }
  }
  return undefined;
}

export interface Target {
  path: string;
  query: string;
}

/**
 * Splits a request target and decodes its path. Also takes the absolute form that proxies send. An
 * encoded slash stays encoded: it is part of a segment, not the end of one.
 */
export function parseTarget(target: string): Target {
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
