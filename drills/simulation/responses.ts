import { petJson } from '../../src/domain/json.ts';
import { newCursor, type PageRequest } from '../../src/domain/page.ts';
import type { HttpResponse } from '../../src/http/message.ts';
import type { Animal, Intent, Model } from './model.ts';
import { headerOf, type ClientKey } from './service.ts';

/** The order of events, the time that never jumps, and the clock that does. */
interface Point {
  moment: number;
  ms: number;
  clockMs: number;
}

/** One request, and what came of it. */
export type Exchange = {
  key: ClientKey;
  service: number;
  /** Called in the turn in which the response arrives. */
  onResponse?: () => void;
  start?: Point;
  /** Set when nothing more can come: with the response, or with the end of the process. */
  end?: Point;
  response?: HttpResponse;
  /** The last response with the same target. */
  known?: Exchange | undefined;
} & (
  | {
      kind: 'create';
      intent: Intent;
      /** It has the claim of the intent, and another body. */
      isChanged: boolean;
      /** The client does not get the response. */
      isLost: boolean;
    }
  | { kind: 'list'; query: Walk; isConditional: boolean }
  | { kind: 'get'; id: bigint }
);

/** A page of a walk from the first to the last. */
type Walk = PageRequest & { afterId: bigint };

export function targetOf(exchange: Exchange): string {
  if (exchange.kind === 'create') return '/pets';
  if (exchange.kind === 'get') return `/pets/${exchange.id}`;
  const { limit, status, afterId } = exchange.query;
  const query = new URLSearchParams({ limit: String(limit) });
  if (status !== undefined) query.set('status', status);
  if (afterId > 0n) query.set('cursor', newCursor(afterId, status));
  return `/pets?${query.toString()}`;
}

export function optionsOf(exchange: Exchange): { body?: string; headers?: Record<string, string> } {
  if (exchange.kind === 'create') {
    const { name, status, claim } = exchange.intent;
    const body = { name: exchange.isChanged ? `${name} changed` : name, categoryId: 1, status };
    const headers = claim === undefined ? {} : { 'idempotency-key': claim };
    return { body: JSON.stringify(body), headers };
  }
  const etag = exchange.known?.response && headerOf(exchange.known.response, 'ETag');
  const isConditional = exchange.kind === 'list' && exchange.isConditional && etag !== undefined;
  return isConditional ? { headers: { 'if-none-match': etag } } : {};
}

/** A key works until it is revoked or expires, and no fault makes a response an unexpected one. */
export function checkKey(exchange: Exchange, isFaulty: boolean, model: Model): void {
  const { key, start, end, response } = exchange;
  if (response === undefined || start === undefined || end === undefined) return;
  const told = `${exchange.kind} got ${response.status} ${response.body.slice(0, 200)}`;
  const expiresMs = key.record.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
  if (response.status === 401) {
    if (!key.isPerhapsRevoked && expiresMs > end.clockMs) model.fail(`${told} with a valid key`);
  } else if (response.status === 503) {
    if (!isFaulty) model.fail(`${told} without a fault`);
  } else {
    const isRevoked = key.refusedFromMs !== undefined && start.ms >= key.refusedFromMs;
    if (isRevoked) model.fail(`${told} with a revoked key`);
    if (expiresMs <= start.clockMs) model.fail(`${told} with an expired key`);
  }
}

/** Whether a create had to find a claim; undefined if both are right. */
export function isClaimFound(
  exchange: Exchange,
  exchanges: readonly Exchange[],
  model: Model,
): boolean | undefined {
  const { start, end } = exchange;
  if (exchange.kind !== 'create' || start === undefined || end === undefined) return undefined;
  const { intent } = exchange;
  const isFound = model.isClaimFound(intent, { fromMs: start.clockMs, toMs: end.clockMs });
  const isSame = (other: Exchange) =>
    other.kind === 'create' && other.intent === intent && !other.isChanged;
  // Of several attempts at once, one stores the claim and the others find it.
  return isFound === false && exchanges.filter(isSame).length > 1 ? undefined : isFound;
}

/** `mustFind` says whether a create had to find a claim; undefined if both are right. */
export function checkResponse(
  exchange: Exchange,
  mustFind: boolean | undefined,
  model: Model,
): void {
  const { response } = exchange;
  if (response === undefined || response.status === 401 || response.status === 503) return;
  const fault =
    exchange.kind === 'create'
      ? faultOfCreate(response, exchange, mustFind)
      : exchange.kind === 'get'
        ? faultOfGet(response, exchange.id, exchange, model)
        : faultOfList(exchange, exchange.query, model);
  if (fault === undefined) return;
  const body = response.body.slice(0, 300);
  model.fail(`${exchange.kind} ${targetOf(exchange)}: ${fault}; got ${response.status} ${body}`);
}

function faultOfCreate(
  response: HttpResponse,
  { intent, isChanged }: Exchange & { kind: 'create' },
  mustFind: boolean | undefined,
): string | undefined {
  if (isChanged) return response.status === 422 ? undefined : 'a reused claim must be 422';
  if (response.status !== 201) return `${intent.name} must be 201`;
  const { name, status, ids } = intent;
  const body = response.body;
  const id = ids.find((each) => body === petJson({ id: each, name, categoryId: 1n, status }));
  if (id === undefined) return 'the response is not the animal that is stored';
  const isReplayed = headerOf(response, 'Idempotency-Replayed') !== undefined;
  if (isReplayed && mustFind === false) return 'there is no claim to repeat';
  if (!isReplayed && mustFind === true) return 'the claim was forgotten';
  if (isReplayed && mustFind === true && id !== ids.at(-1)) return 'the claim has another id';
  return undefined;
}

function faultOfGet(
  { status, body }: HttpResponse,
  id: bigint,
  { start }: Exchange,
  model: Model,
): string | undefined {
  const animal = model.animals.get(id);
  if (animal === undefined || animal.isRemoved) return status === 404 ? undefined : 'must be 404';
  if (status === 404) return isKnown(animal, start) ? 'must be 200' : undefined;
  return body === jsonOf(animal) ? undefined : `must be ${jsonOf(animal)}`;
}

function faultOfList(exchange: Exchange, query: Walk, model: Model): string | undefined {
  const { response, known, start } = exchange;
  const shown = response?.status === 304 ? known?.response : response;
  if (shown?.status !== 200) return 'must be 200';
  const animals = [...model.animals.values()]
    .filter(({ id, isRemoved }) => id > query.afterId && !isRemoved)
    .filter(({ status }) => query.status === undefined || status === query.status)
    .toSorted((one, other) => (one.id < other.id ? -1 : 1));
  // Every animal that the list shows, up to the last of them: those that were known before must be among them.
  const body = shown.body;
  const page = animals.filter((animal) => body.includes(jsonOf(animal)));
  if (body !== `[${page.map(jsonOf).join(',')}]`)
    return 'it shows what is not stored, or not in order';
  if (page.length > query.limit) return 'it shows more than its limit';
  const isFull = page.length === query.limit;
  const lastId = page.at(-1)?.id ?? 0n;
  const missing = animals.find(
    (animal) => !page.includes(animal) && isKnown(animal, start) && (!isFull || animal.id < lastId),
  );
  if (missing !== undefined) return `${missing.id} is missing`;
  const hasNext = headerOf(shown, 'Link')?.includes('rel="next"') === true;
  const later = animals.filter(({ id }) => isFull && id > lastId);
  if (hasNext && later.length === 0) return 'it must not have a next page';
  if (!hasNext && later.some((animal) => isKnown(animal, start))) return 'it must have a next page';
  return undefined;
}

/** Whether the animal was there before the request was sent. */
function isKnown({ knownSince }: Animal, start: Point | undefined): boolean {
  return start !== undefined && knownSince < start.moment;
}

function jsonOf({ id, name, status }: Animal): string {
  return petJson({ id, name, categoryId: 1n, status });
}
