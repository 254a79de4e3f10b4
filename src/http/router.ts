import type { Operation } from './operation.ts';

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
