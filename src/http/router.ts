import type { Operation } from './operation.ts';
import { operations } from './operations.ts';

/** The paths of the operations begin with the version of the interface. */
const PREFIX = '/v1';

/** Whether a path belongs to the interface, so that a key is required. */
export function isInInterface(path: string): boolean {
  return path === PREFIX || path.startsWith(`${PREFIX}/`);
}

export interface Route {
  /** With the name of its parameter. */
  path: string;
  /** Matches the paths of the route. Its group is the parameter. */
  pattern: RegExp;
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
  const pattern = new RegExp(`^${PREFIX}${path.replace(/\{\w+\}/, '([^/]+)')}$`);
  return { path: PREFIX + path, pattern, byMethod };
}

/** Every method that some operation has, for `OPTIONS *`. */
export const ALL_METHODS: readonly string[] = [
  ...new Set(routes.flatMap(({ byMethod }) => [...byMethod.keys()])),
  'OPTIONS',
];

export function findRoute(path: string): [route: Route, parameter: string] | undefined {
  for (const route of routes) {
    const match = route.pattern.exec(path);
    if (match !== null) return [route, match[1] ?? ''];
  }
  return undefined;
}
