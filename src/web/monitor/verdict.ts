import type { Environment } from '../../domain/api-key.ts';
import { escapeHtml } from '../html.ts';

/** What the monitor shows of the service. It does not get the settings: one of them has a password. */
export interface MonitoredService {
  environment: Environment;
  /** Whether the figures are those of one of several workers. */
  isWorker: boolean;
  storeKind: 'PostgreSQL' | 'SQLite';
  /** Where the store is. */
  storeName: string;
  /** Undefined with port 0: the system chooses a port, which is not known here. */
  baseUrl: string | undefined;
}

export interface Verdict {
  isReady: boolean;
  version: string | undefined;
  uptimeMs: number;
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const;

/** The first thing on the page: whether the service is ready. */
export function renderVerdict(service: MonitoredService, verdict: Verdict): string {
  const { isReady, version, uptimeMs } = verdict;
  const facts: [name: string, value: string | undefined][] = [
    ['Store', service.storeKind],
    ['Database', service.storeName],
    ['Version', version],
    ['Uptime', uptimeText(uptimeMs)],
    ['Base address', service.baseUrl],
  ];
  const items = facts.map(([name, value]) =>
    value === undefined ? '' : `<div><dt>${name}</dt><dd>${escapeHtml(value)}</dd></div>`,
  );
  const words = `${service.isWorker ? 'This worker' : 'The service'} is ${isReady ? '' : 'not '}ready`;
  const why = isReady ? '' : '<p>Its store does not respond. The log has the cause.</p>';
  return `<section class="card verdict${isReady ? '' : ' failing'}"><h2>${words}</h2>${why}<dl class="figures">${items.join('')}</dl></section>`;
}

/** The address of the console, which ends in `/`, or undefined if the port of the service is not known. */
export function siteUrlOf(service: MonitoredService): string | undefined {
  return service.baseUrl?.replace(/v1$/, '');
}

/** The two largest units: "3 d 4 h", "12 min", or "under a minute". */
function uptimeText(uptimeMs: number): string {
  let seconds = uptimeMs / 1000;
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(seconds / size);
    seconds -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.slice(0, 2).join(' ') || 'under a minute';
}
