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

/** The route of a path without parameter, or, under its stem, of a path that ends in one. */
const exactPaths = new Map<string, Route>();
const parameterStems = new Map<string, Route>();

for (const [path, sharing] of Map.groupBy(operations, (operation) => operation.path)) {
  const byMethod = new Map<string, Operation>();
  for (const operation of sharing) {
    byMethod.set(operation.method, operation);
    if (operation.method === 'GET') byMethod.set('HEAD', operation);
  }
  const route = { byMethod, methods: [...byMethod.keys(), 'OPTIONS'], pathParameter: '' };
  const [stem = '', parameter] = `${PREFIX}${path}`.split('{');
  (parameter === undefined ? exactPaths : parameterStems).set(stem, route);
}

/** Every method that some operation has, for `OPTIONS *`. */
export const ALL_METHODS = [
  ...new Set(
    [...exactPaths.values(), ...parameterStems.values()].flatMap(({ methods }) => methods),
  ),
];

export function findRoute(path: string): Route | undefined {
  const exact = exactPaths.get(path);
  if (exact !== undefined) return exact;
  const stemLength = path.lastIndexOf('/') + 1;
  const route = parameterStems.get(path.slice(0, stemLength));
  const pathParameter = path.slice(stemLength);
  if (route === undefined || pathParameter === '') return undefined;
  return { byMethod: route.byMethod, methods: route.methods, pathParameter };
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
