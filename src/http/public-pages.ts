import { methodNotAllowed, errorResponse, notFound } from './error-response.ts';
import { emptyResponse, jsonResponse, type HttpRequest, type HttpResponse } from './message.ts';

/** Something that is served outside the interface: to anybody, without a key. */
export type Page = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

const METHODS = ['GET', 'HEAD', 'OPTIONS'];

/** The console, the reference, the OpenAPI document and the health of the service, by path. */
export class PublicPages {
  readonly #pages: ReadonlyMap<string, Page>;

  constructor(pages: ReadonlyMap<string, Page>) {
    this.#pages = pages;
  }

  async respond(request: HttpRequest, path: string): Promise<HttpResponse> {
    const page = this.#pages.get(path);
    if (page === undefined) return notFound();
    if (!METHODS.includes(request.method)) return methodNotAllowed(METHODS);
    if (request.method === 'OPTIONS') return emptyResponse(204, ['Allow', METHODS.join(', ')]);
    return page(request);
  }
}

/** `/livez` says whether the process runs, `/readyz` whether it can serve requests. */
export function healthPages(isReady: () => Promise<boolean>): [path: string, page: Page][] {
  const ok = jsonResponse(200, '{"status":"ok"}', ['Cache-Control', 'no-store']);
  return [
    ['/livez', () => ok],
    [
      '/readyz',
      async () =>
        (await isReady()) ? ok : errorResponse('unavailable', 'Not ready to take requests.'),
    ],
  ];
}
