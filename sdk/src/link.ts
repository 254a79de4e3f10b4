// RFC 8288: a target, then parameters, whose quoted texts may hold commas and brackets.
const LINK = /<([^>]*)>((?:\s*;\s*[^\s=;,"<]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,"<]*))?)*)/g;
const RELATION = /;\s*rel\s*=\s*"?([^";]*)/i;

/** The target of the first link with that relation. */
export function findLink(headers: Headers, wanted: string): string | undefined {
  for (const [, target, parameters = ''] of (headers.get('link') ?? '').matchAll(LINK)) {
    const relations = RELATION.exec(parameters)?.[1] ?? '';
    if (relations.toLowerCase().split(/\s+/).includes(wanted)) return target;
  }
  return undefined;
}

/**
 * The cursor of the next page; the last page has none. Only the cursor is taken from the link, and the
 * base address is asked again: another host never receives the key, whatever a link says.
 */
export function nextCursor(headers: Headers, baseUrl: string): string | undefined {
  const link = findLink(headers, 'next');
  if (link === undefined) return undefined;
  const cursor = new URL(link, baseUrl).searchParams.get('cursor');
  if (cursor === null) throw new TypeError('The next page has no cursor.');
  return cursor;
}
