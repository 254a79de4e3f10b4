import type { ApiKey } from '../domain/api-key.ts';
import type { Clock } from '../domain/clock.ts';
import { Refusal } from '../domain/errors.ts';
import { newIdempotencyClaim, parseIdempotencyKey } from '../domain/idempotency.ts';
import { parseInt64 } from '../domain/int64.ts';
import { LIMIT_DEFAULT, newCursor, parsePageRequest, type PageRequest } from '../domain/page.ts';
import { newPet, type NewPet } from '../domain/pet.ts';
import type { Store } from '../domain/store.ts';
import type { Metrics } from '../ops/metrics.ts';
import { readJsonBody } from './body.ts';
import { GET_PET_DEPRECATION, isRemoved } from './deprecation.ts';
import { answerConditionally, newRepresentation, type Representation } from './conditional.ts';
import { petJson } from '../domain/json.ts';
import { whenThere, type Later } from './later.ts';
import { jsonResponse, type HttpRequest, type HttpResponse } from './message.ts';
import type { PageCache } from './page-cache.ts';

const CANONICAL_INTEGER = /^(?:0|-?[1-9]\d*)$/;

/** What an operation is given: the request, already let in, and the parts of the service it may use. */
export interface OperationCall {
  request: HttpRequest;
  caller: ApiKey;
  /** Reads the query parameters the operation knows; called where a 400 has its turn. */
  readQuery: () => Readonly<Record<string, string>>;
  /** The text in the place of the path parameter; empty where the path has none. */
  pathParameter: string;
  /** The caller asked for `Prefer: handling=strict`. */
  isStrict: boolean;
  store: Store;
  cache: PageCache;
  clock: Clock;
  baseUrl: string;
  metrics: Metrics;
}

export function listPets(call: OperationCall): Later<HttpResponse> {
  const representation = keptOrMade(call, () => representPage(call));
  return whenThere(representation, (found) => answerConditionally(call.request, found));
}

/** The same target asks for the same thing; only a strict caller may be refused where others are not. */
function keptOrMade(
  { cache, request, isStrict }: OperationCall,
  make: () => Promise<Representation>,
): Later<Representation> {
  const key = isStrict ? `${request.target} strict` : request.target;
  return cache.get(key, make);
}

async function representPage({
  readQuery,
  store,
  baseUrl,
}: OperationCall): Promise<Representation> {
  const { limit, status, cursor } = readQuery();
  const page = parsePageRequest({ limit, status, cursor });
  // One animal more than the page holds tells that another page follows.
  const found = await store.listPetJson({ ...page, count: page.limit + 1 });
  const shown = found.slice(0, page.limit);
  const json = `[${shown.map(([, pet]) => pet).join(',')}]`;
  const first = pageUrl(baseUrl, page);
  const firstLink = `<${first}>; rel="first"`;
  const [lastId] = shown.at(-1) ?? [];
  if (lastId === undefined || found.length === shown.length) {
    return newRepresentation(json, firstLink);
  }
  const next = `${first}${first.includes('?') ? '&' : '?'}cursor=${newCursor(lastId, page.status)}`;
  return newRepresentation(json, `<${next}>; rel="next", ${firstLink}`);
}

function pageUrl(baseUrl: string, { limit, status }: PageRequest): string {
  const parameters = [
    ...(limit === LIMIT_DEFAULT ? [] : [`limit=${limit}`]),
    ...(status === undefined ? [] : [`status=${status}`]),
  ];
  return `${baseUrl}/pets${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`;
}

export async function createPet(call: OperationCall): Promise<HttpResponse> {
  const { request, store, clock, baseUrl } = call;
  const body = await readJsonBody(request);
  call.readQuery();
  const pet = newPet(body, { refuseUnknown: call.isStrict });
  const creation = await store.createPet(pet, claimOf(call, pet));
  if (creation.kind === 'claim_conflict') {
    throw new Refusal(
      'idempotency_key_reused',
      'This Idempotency-Key was used for another animal; use a new key for a new animal.',
    );
  }
  if (creation.kind === 'created') call.metrics.petsCreated += 1;
  return jsonResponse(201, petJson(creation.pet), [
    'Cache-Control',
    'no-store',
    // A new animal can be pointed at only as long as it can be fetched.
    ...(isRemoved(GET_PET_DEPRECATION, clock.now())
      ? []
      : ['Location', `${baseUrl}/pets/${creation.pet.id}`]),
    ...(creation.kind === 'replayed' ? ['Idempotency-Replayed', 'true'] : []),
  ]);
}

function claimOf({ request, caller, clock }: OperationCall, pet: NewPet) {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  const scope = { apiKeyId: caller.id, now: clock.now() };
  return newIdempotencyClaim(parseIdempotencyKey(key), pet, scope);
}

export function getPet(call: OperationCall): Later<HttpResponse> {
  const representation = keptOrMade(call, () => representPet(call));
  return whenThere(representation, (found) => answerConditionally(call.request, found));
}

async function representPet({
  readQuery,
  pathParameter,
  store,
}: OperationCall): Promise<Representation> {
  readQuery();
  const id = CANONICAL_INTEGER.test(pathParameter) ? parseInt64(pathParameter) : undefined;
  const pet = id === undefined ? undefined : await store.findPet(id);
  if (pet === undefined) throw new Refusal('pet_not_found', 'No animal has this id.');
  return newRepresentation(petJson(pet));
}
