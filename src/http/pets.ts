import { Refusal } from '../domain/errors.ts';
import { newIdempotencyClaim, parseIdempotencyKey } from '../domain/idempotency.ts';
import { petJson } from '../domain/json.ts';
import {
  LAST_CURSOR,
  LAST_POSITION,
  LIMIT_DEFAULT,
  newCursor,
  parsePageRequest,
  type PageRequest,
} from '../domain/page.ts';
import { newPet, parsePetId, type NewPet } from '../domain/pet.ts';
import type { Deprecation, OperationParts, RequestContext } from './operation.ts';
import { readJsonBody } from './json-body.ts';
import { JSON_MEDIA_TYPE, type HttpResponse } from './message.ts';
import { newRepresentation, respondConditionally, type Representation } from './response-cache.ts';
import { hasUnknownParameters, parseQuery, siteOf } from './target.ts';

/** The specification gives the date of removal. The deprecation began with interface version 1.0.0. */
export const GET_PET_DEPRECATION: Deprecation = {
  since: new Date('2026-11-14T00:00:00Z'),
  removedAt: new Date('2030-12-05T00:00:00Z'),
  successorPath: '/pets',
};

const CREATED_HEADERS = Object.freeze([
  'Content-Type',
  JSON_MEDIA_TYPE,
  'Cache-Control',
  'no-store',
]);

export function listPets(context: RequestContext, parts: OperationParts): Promise<HttpResponse> {
  return respondFromCache(context, parts, representPage);
}

async function representPage(
  context: RequestContext,
  { store, baseUrl }: OperationParts,
): Promise<Representation> {
  const { values, hasUnknown, unknownFault } = parseQuery(context);
  const page = parsePageRequest(values, unknownFault);
  const { json, continuesAtId } = await store.listPage(page);

  const first = pageUrl(baseUrl, page);
  const withCursor = `${first}${first.includes('?') ? '&' : '?'}cursor=`;
  const link = (rel: string, cursor: string) => `<${withCursor}${cursor}>; rel="${rel}"`;
  const links = neighbourLinks(page, continuesAtId, link);
  // Both are the same for every page, so that a new animal does not change the ETag of the pages before it.
  links.push(`<${first}>; rel="first"`, link('last', LAST_CURSOR));
  if (hasUnknown) links.push(strictHelpLink(baseUrl));
  // Another page follows it, and every create is behind that.
  const isSettled = 'afterId' in page && continuesAtId !== undefined;
  return newRepresentation(json, { link: links.join(', '), isSettled });
}

/** The links to the next page and, on the way back from the last page, to the page before. */
function neighbourLinks(
  page: PageRequest,
  continuesAtId: bigint | undefined,
  link: (rel: string, cursor: string) => string,
): string[] {
  const { status } = page;
  if ('afterId' in page)
    return continuesAtId === undefined ? [] : [link('next', newCursor(continuesAtId, status))];
  const { upToId } = page;
  const links: string[] = [];
  // Even an empty page has it: its animals may have been removed.
  if (upToId !== LAST_POSITION.upToId) links.push(link('next', newCursor(upToId, status)));
  if (continuesAtId !== undefined)
    links.push(link('prev', newCursor(continuesAtId - 1n, status, 'backward')));
  return links;
}

/**
 * On responses to queries with unknown parameters, which are ignored: a loop over `?page=2` would never end, and
 * nothing else in the response would say why.
 */
function strictHelpLink(baseUrl: string): string {
  const page = `${siteOf(baseUrl)}/docs/strict-handling`;
  return `<${page}>; rel="help"; type="text/html"`;
}

function pageUrl(baseUrl: string, { limit, status }: PageRequest): string {
  const parameters = [
    ...(limit === LIMIT_DEFAULT ? [] : [`limit=${limit}`]),
    ...(status === undefined ? [] : [`status=${status}`]),
  ];
  return `${baseUrl}/pets${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`;
}

export async function createPet(
  context: RequestContext,
  parts: OperationParts,
): Promise<HttpResponse> {
  const { store, clock, metrics, baseUrl, authenticate } = parts;
  const body = await readJsonBody(context.request);
  // The key may have been revoked or have expired while the body was being received.
  const { firstKeyId } = await authenticate(context.request);
  const hasUnknown = hasUnknownParameters(context);
  const pet = newPet(body, { refuseUnknown: context.isStrict });
  const creation = await store.createPet(pet, claimOf(context, pet, firstKeyId, clock.now()));
  if (creation.kind === 'claim_conflict') {
    throw new Refusal(
      'idempotency_key_reused',
      'This Idempotency-Key was used for another animal; use a new key for a new animal.',
    );
  }
  context.petId = creation.pet.id;
  if (creation.kind === 'created') metrics.petsCreated += 1;
  // The new animal has a URL only until getPet is removed.
  const hasUrl = clock.now() < GET_PET_DEPRECATION.removedAt;
  if (hasUrl) context.headers.push(['Location', `${baseUrl}/pets/${creation.pet.id}`]);
  if (creation.kind === 'replayed') context.headers.push(['Idempotency-Replayed', 'true']);
  if (hasUnknown) context.headers.push(['Link', strictHelpLink(baseUrl)]);
  return { status: 201, headers: CREATED_HEADERS, body: petJson(creation.pet) };
}

function claimOf({ request }: RequestContext, pet: NewPet, apiKeyId: string, now: Date) {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  return newIdempotencyClaim(parseIdempotencyKey(key), pet, { apiKeyId, now });
}

export function getPet(context: RequestContext, parts: OperationParts): Promise<HttpResponse> {
  return respondFromCache(context, parts, representPet);
}

async function representPet(
  context: RequestContext,
  { store, baseUrl }: OperationParts,
): Promise<Representation> {
  const help = hasUnknownParameters(context) ? strictHelpLink(baseUrl) : undefined;
  const id = parsePetId(context.pathParameter);
  const pet = id === undefined ? undefined : await store.findPet(id);
  if (pet === undefined) {
    const remedy = id === undefined ? ' An id is an integer, such as 7.' : '';
    throw new Refusal('pet_not_found', `No animal has this id.${remedy}`);
  }
  return newRepresentation(petJson(pet), { link: help, isSettled: true });
}

async function respondFromCache(
  context: RequestContext,
  parts: OperationParts,
  represent: (context: RequestContext, parts: OperationParts) => Promise<Representation>,
): Promise<HttpResponse> {
  const { request, isStrict } = context;
  // The same target gets the same response, except that a strict caller may be refused where others are not.
  const key = isStrict ? `${request.target} strict` : request.target;
  const found = await parts.cache.get(key, () => represent(context, parts));
  return respondConditionally(request, found);
}
