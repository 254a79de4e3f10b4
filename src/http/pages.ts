import { errorResponse } from './error-response.ts';
import { jsonResponse, type HttpRequest, type HttpResponse } from './message.ts';

/** Something served outside the interface: to anybody, without a key. */
export type Page = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

const METHODS = 'GET, HEAD, OPTIONS';

/** The console, the reference, the OpenAPI document and the health of the service, by path. */
export class Pages {
  readonly #pages: ReadonlyMap<string, Page>;

  constructor(pages: ReadonlyMap<string, Page>) {
    this.#pages = pages;
  }

  async answer(request: HttpRequest, path: string): Promise<HttpResponse> {
    const page = this.#pages.get(path);
    if (page === undefined) return errorResponse('route_not_found', 'There is nothing here.');
    if (request.method === 'GET' || request.method === 'HEAD') return page(request);
    if (request.method === 'OPTIONS') return { status: 204, headers: ['Allow', METHODS], body: '' };
    return errorResponse('method_not_allowed', `This path has ${METHODS}.`, ['Allow', METHODS]);
  }
}

/** `/livez` tells whether the process runs, `/readyz` whether it should be sent requests. */
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
