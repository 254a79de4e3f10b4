// RFC 8288: a target and its parameters. A quoted value may contain commas and angle brackets.
const LINK = /<([^<>]*)>((?:\s*;\s*[^\s=;,"<]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,"<]*))?)*)/g;
const RELATION = /;\s*rel\s*=\s*"?([^";]*)/i;

/** Returns the target of the first link with this relation. */
export function findLink(headers: Headers, wanted: string): string | undefined {
  for (const [, target, parameters = ''] of (headers.get('link') ?? '').matchAll(LINK)) {
    const relations = RELATION.exec(parameters)?.[1] ?? '';
    if (relations.toLowerCase().split(/\s+/).includes(wanted)) return target;
  }
  return undefined;
}

/**
 * Returns the cursor of the next or the previous page, if there is one. The rest of the link is ignored, so that
 * a link to another host never sends the key there.
 */
export function findCursor(
  headers: Headers,
  relation: 'next' | 'prev',
  baseUrl: string,
): string | undefined {
  const link = findLink(headers, relation);
  if (link === undefined) return undefined;
  const cursor = new URL(link, baseUrl).searchParams.get('cursor');
  if (cursor === null) throw new TypeError(`The ${relation} link has no cursor.`);
  return cursor;
}
