import { errorResponse } from './error-response.ts';
import { jsonResponse, requestIdOf } from './message.ts';
import type { HttpRequest, HttpResponse } from './message.ts';
import type { Page } from './pages.ts';
import { parseTarget } from './target.ts';

const OK = jsonResponse(200, '{"status":"ok"}', ['Cache-Control', 'no-store']);
const NOT_READY = errorResponse('unavailable', 'The service is not ready; try again shortly.');

/** `/livez` says whether the process runs, `/readyz` whether it can serve requests. */
export function healthPages(isReady: () => Promise<boolean>): [path: string, page: Page][] {
  return [
    ['/livez', () => OK],
    ['/readyz', async () => ((await isReady()) ? OK : NOT_READY)],
  ];
}

/** Responds while the start waits for the database: `/livez` is 200, and everything else is 503. */
export function respondWaiting(request: HttpRequest, newRequestId: () => string): HttpResponse {
  const response = parseTarget(request.target).path === '/livez' ? OK : NOT_READY;
  const requestId = requestIdOf(request.headers, newRequestId);
  return { ...response, headers: [...response.headers, 'X-Request-Id', requestId] };
}
