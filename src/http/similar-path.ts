import { routes } from './router.ts';

/** A longer path cannot be a misspelled path of this service. */
const PATH_LENGTH_MAX = 80;
/** Including its slash. A shorter path would be similar to every short one. */
const SEGMENT_LENGTH_MIN = 4;
/** What people write before the path of a resource. */
const PREFIX = /^(?:\/(?:api|v\d+))+(?=\/)/;

/**
 * Says what to use instead of a path that does not exist. The result has only paths of this service, and nothing of
 * the request.
 */
export function suggestPath(path: string, pages: Iterable<string>): string {
  const similar = path.length > PATH_LENGTH_MAX ? undefined : findSimilar(path, pages);
  if (similar !== undefined) return `Did you mean ${similar}?`;
  const known = routes.map((route) => route.path).join(' and ');
  return `The interface has ${known}; /docs describes it.`;
}

function findSimilar(path: string, pages: Iterable<string>): string | undefined {
  const wanted = simplify(path);
  if (wanted.length < SEGMENT_LENGTH_MIN) return undefined;
  const parent = wanted.slice(0, wanted.lastIndexOf('/'));
  const route = routes.find(({ stem, hasParameter }) =>
    isSimilar(hasParameter ? parent : wanted, simplify(stem)),
  );
  if (route !== undefined) return route.path;
  return Iterator.from(pages).find(
    (page) => !page.startsWith('/assets/') && isSimilar(wanted, simplify(page)),
  );
}

function simplify(path: string): string {
  const withSlashes = path.toLowerCase().replaceAll(/\/{2,}/g, '/');
  return withSlashes.replace(PREFIX, '').replace(/\/$/, '');
}

/** Whether the texts differ at most in one character, or in two neighbours that changed places. */
function isSimilar(left: string, right: string): boolean {
  let start = 0;
  while (start < left.length && left[start] === right[start]) start += 1;
  let end = 0;
  const shorter = Math.min(left.length, right.length) - start;
  while (end < shorter && left.at(-1 - end) === right.at(-1 - end)) end += 1;
  const here = left.slice(start, left.length - end);
  const there = right.slice(start, right.length - end);
  const isSwapped = there.length === 2 && here === `${there[1]}${there[0]}`;
  return isSwapped || (here.length <= 1 && there.length <= 1);
}
