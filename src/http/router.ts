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

type Resource = Omit<Route, 'pathParameter'>;

/** The resource of a path without parameter, or, under its stem, of a path that ends in one. */
const exactPaths = new Map<string, Resource>();
const parameterStems = new Map<string, Resource>();

for (const [path, sharing] of Map.groupBy(operations, (operation) => operation.path)) {
  const byMethod = new Map<string, Operation>();
  for (const operation of sharing) {
    byMethod.set(operation.method, operation);
    if (operation.method === 'GET') byMethod.set('HEAD', operation);
  }
  const resource = { byMethod, methods: [...byMethod.keys(), 'OPTIONS'] };
  const [stem = '', parameter] = `${PREFIX}${path}`.split('{');
  (parameter === undefined ? exactPaths : parameterStems).set(stem, resource);
}

/** Every method that some operation has, for `OPTIONS *`. */
export const ALL_METHODS = [
  ...new Set(
    [...exactPaths.values(), ...parameterStems.values()].flatMap(({ methods }) => methods),
  ),
];

export function findRoute(path: string): Route | undefined {
  const exact = exactPaths.get(path);
  if (exact !== undefined) return { ...exact, pathParameter: '' };
  const stemLength = path.lastIndexOf('/') + 1;
  const resource = parameterStems.get(path.slice(0, stemLength));
  const pathParameter = path.slice(stemLength);
  if (resource === undefined || pathParameter === '') return undefined;
  return { ...resource, pathParameter };
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
  const origin = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '');
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
