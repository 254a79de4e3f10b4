import { methodNotAllowed, notFound } from './error-response.ts';
import { allow, JSON_MEDIA_TYPE, type HttpRequest, type HttpResponse } from './message.ts';

/** A page outside the interface. Anybody may request it, without a key. */
export type Page = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

/** By path: the console, the reference, the OpenAPI document and the health of the service. */
export type PublicPages = ReadonlyMap<string, Page>;

/** Stands for every path that does not exist: the page that a browser gets there. */
export const NOT_FOUND = '*';

const PAGE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

export async function respondWithPage(
  pages: PublicPages,
  request: HttpRequest,
  path: string,
): Promise<HttpResponse> {
  const page = pages.get(path);
  if (page === undefined) {
    const html = prefersHtml(request) ? pages.get(NOT_FOUND)?.(request) : undefined;
    return html ?? notFound();
  }
  if (request.method === 'OPTIONS') return allow(PAGE_METHODS);
  return PAGE_METHODS.includes(request.method) ? page(request) : methodNotAllowed(PAGE_METHODS);
}

/** Whether the client is a browser that shows a page. */
function prefersHtml({ headers, method }: HttpRequest): boolean {
  const { accept = '' } = headers;
  const isRead = method === 'GET' || method === 'HEAD';
  return isRead && accept.includes('text/html') && !accept.includes(JSON_MEDIA_TYPE);
}
