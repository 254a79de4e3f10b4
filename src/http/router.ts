import type { Operation } from './operation.ts';
import { operations } from './operations.ts';

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
  /** The path up to its parameter. */
  stem: string;
  hasParameter: boolean;
  /** By method. HEAD is handled as GET. */
  byMethod: ReadonlyMap<string, Operation>;
}

export const routes: readonly Route[] = [...Map.groupBy(operations, ({ path }) => path)].map(
  newRoute,
);

function newRoute([path, sharing]: [string, Operation[]]): Route {
  const byMethod = new Map<string, Operation>();
  for (const operation of sharing) {
    byMethod.set(operation.method, operation);
    if (operation.method === 'GET') byMethod.set('HEAD', operation);
  }
  const [stem = '', parameter] = `${PREFIX}${path}`.split('{');
  return { path: PREFIX + path, stem, hasParameter: parameter !== undefined, byMethod };
}

/** Every method that some operation has, for `OPTIONS *`. */
export const ALL_METHODS: readonly string[] = [
  ...new Set(routes.flatMap(({ byMethod }) => [...byMethod.keys()])),
  'OPTIONS',
];

/** Compares the path with each route. There are two, so this is faster than hashing the path. */
export function findRoute(path: string): [route: Route, parameter: string] | undefined {
  for (const route of routes) {
    const { stem, hasParameter } = route;
    if (path === stem && !hasParameter) return [route, ''];
    const parameter = hasParameter && path.startsWith(stem) ? path.slice(stem.length) : '';
    if (parameter !== '' && !parameter.includes('/')) return [route, parameter];
  }
  return undefined;
}
