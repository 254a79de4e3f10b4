import { jsonResponse, type HttpResponse } from '../message.ts';
import type { OperationParts, RequestContext } from '../operation.ts';
import { hasUnknownParameters } from '../target.ts';

/** Says what the key may do, so that the page does not learn it from a refusal. */
export async function readSession(
  context: RequestContext,
  { authenticate, store }: OperationParts,
): Promise<HttpResponse> {
  hasUnknownParameters(context);
  const { name, scopes } = await authenticate(context.request);
  const hasManageScope = scopes.includes('pets:manage');
  const body = {
    name,
    mayRead: scopes.includes('pets:read'),
    mayAdd: scopes.includes('pets:write'),
    mayChange: hasManageScope && (await store.mayChange()),
    // Where only the store refuses changes, another key would not help.
    hasManageScope,
  };
  return jsonResponse(200, JSON.stringify(body), ['Cache-Control', 'no-store']);
}
