import type { Environment } from '../../domain/api-key.ts';
import { escapeHtml } from '../html.ts';

/** The settings of the service that the monitor shows. */
export interface MonitoredService {
  /** Whether the figures are those of one of several workers. */
  isWorker: boolean;
  environment: Environment;
  host: string;
  port: number;
  baseUrl: string | undefined;
  dataFolder: string;
  databaseUrl: string | undefined;
}

export interface Verdict {
  isReady: boolean;
  version: string | undefined;
  uptimeMs: number;
}

const EVERY_ADDRESS = ['0.0.0.0', '::'];
/** What may be shown of the address of a database: its hosts with their ports, and its name. */
const SHOWN_ADDRESS = /^[\w.,:[\]-]+\/[\w.%-]*$/;
const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const;

/** The first thing on the page: whether the service is ready. */
export function renderVerdict(service: MonitoredService, verdict: Verdict): string {
  const { isReady, version, uptimeMs } = verdict;
  const baseUrl = baseUrlOf(service);
  const isPostgres = service.databaseUrl !== undefined;
  const facts: [name: string, value: string | undefined][] = [
    ['Store', isPostgres ? 'PostgreSQL' : 'SQLite'],
    ['Database', databaseOf(service)],
    ['Version', version],
    ['Uptime', uptimeText(uptimeMs)],
    ['Base address', baseUrl],
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
  return baseUrlOf(service)?.replace(/v1$/, '');
}

/** Undefined with port 0: the system chooses a port, which is not known here. */
function baseUrlOf({ baseUrl, host, port }: MonitoredService): string | undefined {
  if (baseUrl !== undefined || port === 0) return baseUrl;
  const name = EVERY_ADDRESS.includes(host) ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}/v1`;
}

/** The user name and the password are before the last `@`, and parameters after `?`. */
function databaseOf({ databaseUrl, dataFolder }: MonitoredService): string | undefined {
  if (databaseUrl === undefined) return `${dataFolder}/petstore.sqlite`;
  const [shown = ''] = databaseUrl.replace(/^.*@|^\w+:\/\//s, '').split('?');
  return SHOWN_ADDRESS.test(shown) ? shown : undefined;
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
