import { consoleEndpoints } from './console/endpoints.ts';
import type { Endpoint } from './operation.ts';
import { operations } from './operations.ts';

/** The version of the interface. */
const PREFIX = '/v1';
const PREFIX_AND_SLASH = `${PREFIX}/`;
const CONSOLE_PREFIX = '/console';
const CONSOLE_PREFIX_AND_SLASH = `${CONSOLE_PREFIX}/`;

/** Whether a path belongs to the interface, so that a key is required. */
export function isInInterface(path: string): boolean {
  return path === PREFIX || path.startsWith(PREFIX_AND_SLASH);
}

/** Whether a path is one of the console's own requests. They require a key too. */
export function isOfConsole(path: string): boolean {
  return path.startsWith(CONSOLE_PREFIX_AND_SLASH);
}

export interface Route {
  /** With the name of its parameter. */
  path: string;
  /** Matches the paths of the route. Its group is the parameter. */
  pattern: RegExp;
  /** By method. HEAD is handled as GET. */
  byMethod: ReadonlyMap<string, Endpoint>;
}

const routes: readonly Route[] = [
  ...newRoutes(PREFIX, operations),
  ...newRoutes(CONSOLE_PREFIX, consoleEndpoints),
];

function newRoutes(prefix: string, endpoints: readonly Endpoint[]): Route[] {
  return [...Map.groupBy(endpoints, ({ path }) => prefix + path)].map(newRoute);
}

function newRoute([path, sharing]: [string, Endpoint[]]): Route {
  const byMethod = new Map<string, Endpoint>();
  for (const endpoint of sharing) {
    byMethod.set(endpoint.method, endpoint);
    if (endpoint.method === 'GET') byMethod.set('HEAD', endpoint);
  }
  const pattern = new RegExp(`^${path.replace(/\{\w+\}/, '([^/]+)')}$`);
  return { path, pattern, byMethod };
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
