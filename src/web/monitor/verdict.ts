import type { Environment } from '../../domain/key-form.ts';
import { siteOf } from '../../http/target.ts';
import { escapeHtml } from '../html.ts';
import type { Failure, FigureReader } from './history.ts';
import { durationText, problemsOf, stateOf } from './problems.ts';

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
  now: Date;
}

/** The first thing on the page: whether somebody must do something. */
export function renderVerdict(
  service: MonitoredService,
  verdict: Verdict,
  latest: FigureReader,
  lastFailure?: Failure,
): string {
  const { version, uptimeMs, isReady, now } = verdict;
  const subject = service.isWorker ? 'This worker' : 'The service';
  const problems = problemsOf({ subject, isReady, now }, latest);
  const words = problems.map(
    ({ title, remedy }) => `<h2>${title}</h2><p>${escapeHtml(remedy)}</p>`,
  );
  const facts: Facts = [
    ['Store', service.storeKind],
    ['Database', service.storeName],
    ['Version', version],
    ['Uptime', durationText(uptimeMs)],
    ['Base address', service.baseUrl],
  ];
  const failing = problems.length > 0 ? ' failing' : '';
  return `<section class="card verdict${failing}">${words.join('') || `<h2>${subject} is ready</h2>`}${renderFacts(stateOf(latest, lastFailure, verdict))}${renderFacts(facts)}</section>`;
}

export type Facts = (readonly [name: string, value: string | undefined])[];

/** Facts without a value are left out. */
export function renderFacts(facts: Facts): string {
  const items = facts.map(([name, value]) =>
    value === undefined ? '' : `<div><dt>${name}</dt><dd>${escapeHtml(value)}</dd></div>`,
  );
  return `<dl class="figures">${items.join('')}</dl>`;
}

/** The address of the console, which ends in `/`, or undefined if the port of the service is not known. */
export function siteUrlOf(service: MonitoredService): string | undefined {
  return service.baseUrl && `${siteOf(service.baseUrl)}/`;
}
