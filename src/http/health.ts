import { errorResponse } from './error-response.ts';
import { jsonResponse, type Page } from './message.ts';

/** `/livez` says whether the process runs, `/readyz` whether it can serve requests. */
export function healthPages(isReady: () => Promise<boolean>): [path: string, page: Page][] {
  const ok = jsonResponse(200, '{"status":"ok"}', ['Cache-Control', 'no-store']);
  const notReady = errorResponse('unavailable', 'The service is not ready; try again shortly.');
  return [
    ['/livez', () => ok],
    ['/readyz', async () => ((await isReady()) ? ok : notReady)],
  ];
}
