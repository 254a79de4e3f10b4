import type { Observation } from './clause.ts';
import type { Exchange } from './client.ts';
import { isRecord } from './shapes.ts';

/**
 * Headers of the connection or of a proxy in front of the service. Two addresses that differ only in these
 * have the same interface.
 */
const TRANSPORT_HEADERS = new Set([
  'age',
  'alt-svc',
  'connection',
  'content-encoding',
  'content-length',
  'date',
  'keep-alive',
  'server',
  'strict-transport-security',
  'transfer-encoding',
  'vary',
  'via',
]);

const DEPTH_MAX = 4;

/** The headers and the body shape of one kind of response, such as `listPets 200`. */
interface ResponseKind {
  headers: Set<string>;
  /** Lines such as `[].id: integer`. */
  shape: Set<string>;
}

/**
 * The differences between two addresses, one sentence each: in the clauses that they keep, and in the headers
 * and bodies of the kinds of response that both sent.
 */
export function differencesOf(one: Observation, other: Observation): string[] {
  const first = responseKindsOf(one.exchanges);
  const second = responseKindsOf(other.exchanges);
  const responses = [...first].flatMap(([kind, { headers, shape }]) => {
    const match = second.get(kind);
    if (match === undefined) return [];
    return [
      ...differing(headers, match.headers, `${kind}: the header `),
      ...differing(...comparable(shape, match.shape), `${kind}: in the body, `),
    ];
  });
  return [...verdictDifferencesOf(one, other, ''), ...responses];
}

/** The clauses that are kept at one address and broken at the other. */
export function verdictDifferencesOf(
  one: Observation,
  other: Observation,
  idPrefix: string,
): string[] {
  return [...one.verdicts].flatMap(([id, { kind }]) => {
    const match = other.verdicts.get(id)?.kind;
    if (!id.startsWith(idPrefix) || match === undefined || match === kind) return [];
    if (kind === 'not-checkable' || match === 'not-checkable') return [];
    return [`${id} is ${kind} at the first address and ${match} at the second`];
  });
}

function differing(one: Set<string>, other: Set<string>, what: string): string[] {
  return [
    ...[...one.difference(other)].map((part) => `${what}${part} is only at the first address`),
    ...[...other.difference(one)].map((part) => `${what}${part} is only at the second address`),
  ];
}

/** Removes the elements of lists if the list was always empty at one address. */
function comparable(one: Set<string>, other: Set<string>): [Set<string>, Set<string>] {
  if (hasElements(one) && hasElements(other)) return [one, other];
  return [withoutElements(one), withoutElements(other)];
}

function hasElements(shape: Set<string>): boolean {
  return shape.values().some((line) => line.startsWith('[]'));
}

function withoutElements(shape: Set<string>): Set<string> {
  return new Set(shape.values().filter((line) => !line.startsWith('[]')));
}

function responseKindsOf(exchanges: readonly Exchange[]): Map<string, ResponseKind> {
  const kinds = new Map<string, ResponseKind>();
  for (const { operation, status, headers, body } of exchanges) {
    const kind = kinds.getOrInsertComputed(`${operation} ${status}`, () => ({
      headers: new Set(),
      shape: new Set(),
    }));
    for (const name of headers.keys()) if (!TRANSPORT_HEADERS.has(name)) kind.headers.add(name);
    addShape(kind.shape, body, []);
  }
  return kinds;
}

function addShape(shape: Set<string>, value: unknown, path: string[]): void {
  shape.add(`${path.length === 0 ? 'the whole' : path.join('')}: ${typeName(value)}`);
  if (path.length >= DEPTH_MAX) return;
  if (Array.isArray(value)) for (const element of value) addShape(shape, element, [...path, '[]']);
  if (!isRecord(value)) return;
  for (const [field, part] of Object.entries(value)) addShape(shape, part, [...path, `.${field}`]);
}

function typeName(value: unknown): string {
  if (value === undefined) return 'not JSON';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'bigint' ? 'integer' : typeof value;
}
