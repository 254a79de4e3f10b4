import { fileAsset, htmlResponse } from '../assets.ts';
import type { Clock } from '../../domain/clock.ts';
import type { Figure } from '../../ops/metrics.ts';
import type { Page } from '../../http/pages.ts';
import { History } from './history.ts';
import type { MonitoredService } from './verdict.ts';

/** The page at the root of the admin port, for those who have no Prometheus. */
export interface Monitor {
  pages: [path: string, page: Page][];
  /** Begins to take samples. */
  start(): void;
  close(): void;
}

interface MonitorParts extends MonitoredService {
  isReady: () => Promise<boolean>;
  figures: () => Figure[] | Promise<Figure[]>;
  clock: Clock;
  intervalMs?: number;
}

export function openMonitor({ figures, isReady, ...service }: MonitorParts): Monitor {
  const { clock } = service;
  const history = new History(figures, service);
  const startedMs = clock.elapsedMs();
  // A sample that cannot be taken is a gap in the charts.
  const take = () => void history.take().catch(() => undefined);
  let timer: NodeJS.Timeout | undefined;
  const page: Page = async () => {
    const { renderMonitor } = await import('./render.ts');
    const html = await renderMonitor(service, history, {
      isReady: await isReady().catch(() => false),
      uptimeMs: clock.elapsedMs() - startedMs,
      now: clock.now(),
    });
    return htmlResponse(html);
  };
  return {
    pages: [
      ['/', page],
      fileAsset('src/web/monitor/page/main.ts'),
      fileAsset('src/web/monitor/page/monitor.css'),
      fileAsset('src/web/console/page/style.css'),
      fileAsset('src/web/console/page/icon.svg'),
    ],
    start() {
      take();
      timer = setInterval(take, history.intervalMs).unref();
    },
    close: () => clearInterval(timer),
  };
}
