import { Refusal } from '../../domain/errors.ts';
import { petJson } from '../../domain/json.ts';
import { newPetEdit, newPetRemoval, parsePetId, type Pet } from '../../domain/pet.ts';
import type { PetConflict } from '../../domain/store.ts';
import { readJsonBody } from '../json-body.ts';
import { jsonResponse, type HttpResponse } from '../message.ts';
import type { OperationParts, RequestContext } from '../operation.ts';
import { hasUnknownParameters } from '../target.ts';

/** Changes an animal that is still as the person saw it. */
export async function changePet(
  context: RequestContext,
  parts: OperationParts,
): Promise<HttpResponse> {
  const { id, body } = await readChange(context, parts);
  const { from, to } = newPetEdit(body, { refuseUnknown: context.isStrict });
  const conflicts = await parts.store.changePets([{ from: { id, ...from }, to }]);
  return respondTo(conflicts, { id, ...to });
}

/** Removes an animal that is still as the person saw it. */
export async function removePet(
  context: RequestContext,
  parts: OperationParts,
): Promise<HttpResponse> {
  const { id, body } = await readChange(context, parts);
  const pet: Pet = { id, ...newPetRemoval(body, { refuseUnknown: context.isStrict }) };
  return respondTo(await parts.store.changePets([{ from: pet, to: undefined }]), pet);
}

async function readChange(context: RequestContext, { authenticate }: OperationParts) {
  const body = await readJsonBody(context.request);
  // The key may have been revoked or have expired while the body was being received.
  await authenticate(context.request);
  hasUnknownParameters(context);
  const id = parsePetId(context.pathParameter);
  if (id === undefined) throw petNotFound();
  context.petId = id;
  return { id, body };
}

function respondTo([conflict]: PetConflict[], pet: Pet): HttpResponse {
  if (conflict?.kind === 'gone') throw petNotFound();
  if (conflict !== undefined) {
    throw new Refusal(
      'pet_changed',
      'Somebody has changed the animal meanwhile, so nothing was stored: look at it again.',
    );
  }
  return jsonResponse(200, petJson(pet), ['Cache-Control', 'no-store']);
}

function petNotFound(): Refusal {
  return new Refusal('pet_not_found', 'No animal has this id: it may have been removed.');
}
