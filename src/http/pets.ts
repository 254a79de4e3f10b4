import type { Clock } from '../domain/clock.ts';
import { Refusal } from '../domain/errors.ts';
import { newIdempotencyClaim, parseIdempotencyKey } from '../domain/idempotency.ts';
import { parseInt64 } from '../domain/int64.ts';
import { petJson } from '../domain/json.ts';
import { LIMIT_DEFAULT, newCursor, parsePageRequest, type PageRequest } from '../domain/page.ts';
import { newPet, type NewPet } from '../domain/pet.ts';
import type { Store } from '../domain/store.ts';
import type { Metrics } from '../domain/metrics.ts';
import type { RequestContext } from './app.ts';
import { readJsonBody } from './body.ts';
import { jsonResponse, type HttpResponse } from './message.ts';
import {
  newRepresentation,
  respondConditionally,
  type Representation,
  type ResponseCache,
} from './response-cache.ts';
import { parseQuery } from './router.ts';

/** The parts of the service that the operations use. */
export interface PetsParts {
  store: Store;
  cache: ResponseCache;
  clock: Clock;
  metrics: Metrics;
  /** The URL of the service for clients. Ends in /v1. */
  baseUrl: string;
}

/** Since when an operation is deprecated, when it is removed, and what replaces it. */
export interface Deprecation {
  since: Date;
  removedAt: Date;
  /** Relative to the base URL. */
  successorPath: string;
}

/** The specification gives the date of removal. The deprecation began with interface version 1.0.0. */
export const GET_PET_DEPRECATION: Deprecation = {
  since: new Date('2026-11-14T00:00:00Z'),
  removedAt: new Date('2030-12-05T00:00:00Z'),
  successorPath: '/pets',
};

const CANONICAL_INTEGER = /^(?:0|-?[1-9]\d*)$/;

export function listPets(context: RequestContext, parts: PetsParts): Promise<HttpResponse> {
  return respondFromCache(context, parts, representPage);
}

async function representPage(
  context: RequestContext,
  { store, baseUrl }: PetsParts,
): Promise<Representation> {
  const page = parsePageRequest(parseQuery(context));
  // One animal more than the page may have shows that another page follows.
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

export async function createPet(context: RequestContext, parts: PetsParts): Promise<HttpResponse> {
  const { store, clock, metrics, baseUrl } = parts;
  const body = await readJsonBody(context.request);
  parseQuery(context);
  const pet = newPet(body, { refuseUnknown: context.isStrict });
  const creation = await store.createPet(pet, claimOf(context, pet, clock.now()));
  if (creation.kind === 'claim_conflict') {
    throw new Refusal(
      'idempotency_key_reused',
      'This Idempotency-Key was used for another animal; use a new key for a new animal.',
    );
  }
  if (creation.kind === 'created') metrics.petsCreated += 1;
  // The new animal has a URL only until getPet is removed.
  const hasUrl = clock.now() < GET_PET_DEPRECATION.removedAt;
  return jsonResponse(201, petJson(creation.pet), [
    'Cache-Control',
    'no-store',
    ...(hasUrl ? ['Location', `${baseUrl}/pets/${creation.pet.id}`] : []),
    ...(creation.kind === 'replayed' ? ['Idempotency-Replayed', 'true'] : []),
  ]);
}

function claimOf({ request, keyId }: RequestContext, pet: NewPet, now: Date) {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  return newIdempotencyClaim(parseIdempotencyKey(key), pet, { apiKeyId: keyId, now });
}

export function getPet(context: RequestContext, parts: PetsParts): Promise<HttpResponse> {
  return respondFromCache(context, parts, representPet);
}

async function representPet(
  context: RequestContext,
  { store }: PetsParts,
): Promise<Representation> {
  parseQuery(context);
  const { pathParameter } = context;
  const id = CANONICAL_INTEGER.test(pathParameter) ? parseInt64(pathParameter) : undefined;
  const pet = id === undefined ? undefined : await store.findPet(id);
  if (pet === undefined) throw new Refusal('pet_not_found', 'No animal has this id.');
  return newRepresentation(petJson(pet));
}

async function respondFromCache(
  context: RequestContext,
  parts: PetsParts,
  represent: (context: RequestContext, parts: PetsParts) => Promise<Representation>,
): Promise<HttpResponse> {
  const { request, isStrict } = context;
  // The same target gets the same response, except that a strict caller may be refused where others are not.
  const key = isStrict ? `${request.target} strict` : request.target;
  const found = await parts.cache.get(key, () => represent(context, parts));
  return respondConditionally(request, found);
}
