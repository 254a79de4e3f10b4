import { PETS_COUNTED_MAX } from '../../domain/store.ts';
import { escapeHtml } from '../html.ts';
import { renderChart, timeOf } from './chart.ts';
import type { FigureReader, History, Sample } from './history.ts';
import { chartsOfRequests, chartsOfResources, formatCount, type Chart } from './series.ts';
import {
  renderFacts,
  renderVerdict,
  siteUrlOf,
  type Facts,
  type MonitoredService,
  type Verdict,
} from './verdict.ts';

const MIB = 1024 * 1024;
const ASSETS = 'assets/src/web/monitor/page';
const CONSOLE_ASSETS = 'assets/src/web/console/page';

/** The whole page. Its script replaces #figures with that of a newer page. */
export async function renderMonitor(
  service: MonitoredService,
  history: History,
  verdict: Omit<Verdict, 'version'>,
): Promise<string> {
  const { samples, intervalMs } = history;
  const isStaging = service.environment === 'staging';
  const latest = await history.figures();
  const newest = samples.at(-1);
  const time = newest === undefined ? '' : timeOf(newest);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${isStaging ? 'Staging · ' : ''}Monitor · Pet Store</title>
<link rel="icon" href="${CONSOLE_ASSETS}/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${CONSOLE_ASSETS}/style.css">
<link rel="stylesheet" href="${ASSETS}/monitor.css">
<script type="module" src="${ASSETS}/main.ts"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
${bar(service)}
<main id="main" tabindex="-1">
<div class="head"><h1>Monitor</h1><p id="state" class="small" role="status"></p></div>
<div id="figures" data-interval="${intervalMs}">
${renderVerdict(service, { ...verdict, version: versionOf(latest) }, latest, history.lastFailure)}
<h2>Last five minutes</h2>
<p class="small">As of <time datetime="${newest?.at.toISOString() ?? ''}">${time} UTC</time><span id="local"></span>, sampled every ${intervalMs / 1000} seconds.</p>
${renderFacts(catalogueFacts(latest))}
${renderCharts(chartsOfRequests(samples), samples)}
${errorTable(samples, siteUrlOf(service))}
<h2>Inside the service</h2>
${renderFacts(storeFacts(latest, samples))}
${renderCharts(chartsOfResources(samples), samples)}
</div>
</main>
</body>
</html>
`;
}

function bar(service: MonitoredService): string {
  const isStaging = service.environment === 'staging';
  const band = `<aside class="band" aria-label="Environment"><b>Staging</b> For trying things out.</aside>`;
  const siteUrl = siteUrlOf(service);
  const toConsole = siteUrl === undefined ? '' : `<a href="${escapeHtml(siteUrl)}">Console</a>`;
  return `${isStaging ? band : ''}<header class="bar">
<a class="brand" href="./"><img src="${CONSOLE_ASSETS}/icon.svg" alt="" width="28" height="28">Pet Store</a>
<nav aria-label="Pages">${toConsole}<a href="./" aria-current="page">Monitor</a><a href="metrics">Metrics</a></nav>
<div class="who"><span class="chip">${isStaging ? 'Staging' : 'Production'}</span><button id="pause" type="button" hidden>Pause</button></div>
</header>`;
}

function versionOf(latest: FigureReader): string | undefined {
  const [build] = latest.values('petstore_build_info');
  return build && `${build.labels['version']}, Node.js ${build.labels['node']}`;
}

function renderCharts(charts: readonly Chart[], samples: History['samples']): string {
  const rendered = charts.map((chart) => renderChart(chart, samples));
  return `<div class="charts">\n${rendered.join('\n')}\n</div>`;
}

function catalogueFacts(latest: FigureReader): Facts {
  const pets = latest.find('petstore_pets');
  const about = (pets ?? 0) > PETS_COUNTED_MAX ? 'about ' : '';
  const keys = latest.find('petstore_api_keys');
  const keysAge = latest.find('petstore_api_keys_age_seconds') ?? 0;
  return [
    ['Animals', pets === undefined ? undefined : `${about}${formatCount(pets)}`],
    [
      'API keys',
      keys === undefined ? undefined : `${formatCount(keys)}, read ${keysAge.toFixed(1)} s ago`,
    ],
  ];
}

function storeFacts(latest: FigureReader, samples: History['samples']): Facts {
  const hits = growthOf(samples, ({ cacheHits }) => cacheHits);
  const reads = hits + growthOf(samples, ({ cacheMisses }) => cacheMisses);
  const used = latest.find('petstore_pool_connections', ({ state }) => state === 'used');
  const max = latest.find('petstore_pool_connections_max');
  const wal = latest.find('petstore_wal_size_bytes');
  return [
    ['Cache hits', reads > 0 ? `${formatCount((100 * hits) / reads)} %` : undefined],
    ['Connections', used === undefined ? undefined : `${used} of ${max} in use`],
    ['SQLite WAL', wal === undefined ? undefined : `${(wal / MIB).toFixed(1)} MiB`],
  ];
}

/** Each code links to its explanation, on the port of the service. */
function errorTable(samples: History['samples'], siteUrl: string | undefined): string {
  const codes = [...(samples.at(-1)?.errors.keys() ?? [])];
  const grown = codes
    .map((code) => [code, growthOf(samples, ({ errors }) => errors.get(code) ?? 0)] as const)
    .filter(([, count]) => count > 0)
    .toSorted(([, one], [, other]) => other - one);
  const rows = grown.map(([code, count]) => {
    const text = `<code>${escapeHtml(code)}</code>`;
    const address = siteUrl && escapeHtml(`${siteUrl}docs/errors#${code}`);
    const link = address ? `<a href="${address}">${text}</a>` : text;
    return `<tr><th scope="row">${link}</th><td>${formatCount(count)}</td></tr>`;
  });
  const table = `<table><thead><tr><th scope="col">Code</th><th scope="col">Responses</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
  const none = '<p class="small">No error responses in this time.</p>';
  return `<section class="card errors"><h2>Errors by code</h2>${rows.length > 0 ? table : none}</section>`;
}

/** How much a count grew in the time of the samples. */
function growthOf(samples: History['samples'], pick: (sample: Sample) => number): number {
  const counts = samples.map(pick);
  return Math.max(0, (counts.at(-1) ?? 0) - (counts[0] ?? 0));
}
