import { errorResponse } from './error-response.ts';
import { jsonResponse } from './message.ts';
import type { Page } from './pages.ts';

const OK = jsonResponse(200, '{"status":"ok"}', ['Cache-Control', 'no-store']);
const NOT_READY = errorResponse('unavailable', 'The service is not ready; try again shortly.');

/** `/livez` says whether the process runs, `/readyz` whether it can serve requests. */
export function healthPages(isReady: () => Promise<boolean>): [path: string, page: Page][] {
  return [
    ['/livez', () => OK],
    ['/readyz', async () => ((await isReady()) ? OK : NOT_READY)],
  ];
}
