import { Refusal } from '../domain/errors.ts';
import { unknownNames } from '../domain/unknown-names.ts';

const NOTHING: Readonly<Record<string, string>> = Object.freeze({});

/**
 * Reads the query of a request whose operation knows `names`. A known parameter given twice is refused,
 * because either choice would surprise somebody; an unknown one only with `refuseUnknown`.
 */
export function parseQuery(
  query: string,
  names: readonly string[],
  options: { refuseUnknown: boolean },
): Readonly<Record<string, string>> {
  if (query === '') return NOTHING;
  const values: Record<string, string> = {};
  const unknown: string[] = [];
  // URLSearchParams would drop a question mark at the beginning, which here is part of a name.
  const pairs = new URLSearchParams(query.startsWith('?') ? `&${query}` : query);
  for (const [name, value] of pairs) {
    if (!names.includes(name)) {
      unknown.push(name);
    } else if (Object.hasOwn(values, name)) {
      throw new Refusal('invalid_parameter', `${name} was given twice; it must be given once.`);
    } else {
      values[name] = value;
    }
  }
  if (unknown.length > 0 && options.refuseUnknown) {
    const known = names.join(', ') || 'none';
    throw new Refusal(
      'unknown_parameter',
      `Unknown query parameters: ${unknownNames(unknown)}; this operation has ${known}.`,
    );
  }
  return values;
}
