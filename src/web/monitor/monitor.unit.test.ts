// What the monitor keeps and computes. test/web/monitor.test.ts has the page in a browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gauge, Histogram, Metrics, type Figure, type Measured } from '../../ops/metrics.ts';
import { renderChart } from './chart.ts';
import { FigureReader, History, type Buckets } from './history.ts';
import { openMonitor } from './monitor.ts';
import { renderMonitor } from './render.ts';
import { chartsOfRequests, chartsOfResources, quantileOf } from './series.ts';
import { renderVerdict, siteUrlOf, type MonitoredService } from './verdict.ts';

const SERVICE: MonitoredService = {
  environment: 'production',
  isWorker: false,
  storeKind: 'SQLite',
  storeName: 'data/petstore.sqlite',
  baseUrl: 'http://127.0.0.1:8080/v1',
};
const NO_FIGURES: Measured = { figures: () => [] };

/** A history whose clock moves five seconds, or the given step, with every sample. */
function newHistory(measured: Measured, stepMs = 5_000): History {
  let elapsedMs = 0;
  const clock = { now: () => new Date(elapsedMs), elapsedMs: () => (elapsedMs += stepMs) };
  return new History(() => measured.figures(), { clock });
}

function pageOf(history: History, service: Partial<MonitoredService> = {}): Promise<string> {
  const verdict = { isReady: true, uptimeMs: 0, now: new Date(0) };
  return renderMonitor({ ...SERVICE, ...service }, history, verdict);
}

/** The facts of a page by their names. */
function factsOf(html: string): Partial<Record<string, string>> {
  const facts = [...html.matchAll(/<dt>([^<]*)<\/dt><dd>([^<]*)<\/dd>/g)];
  return Object.fromEntries(facts.map(([, name, value]) => [name, value]));
}

/** The rows beside the charts: the line, its value now, and its peak. */
function rowsOf(html: string): string[] {
  const rows = html.matchAll(/<\/svg>([^<]+)<\/th><td>([^<]*)<\/td><td>([^<]*)<\/td>/g);
  return [...rows].map(([, ...cells]) => cells.join(' | '));
}

/** A chart of one line with samples every 75 seconds, which are the width of 75 units. */
async function chartOf(...values: (number | undefined)[]): Promise<string> {
  const history = newHistory(NO_FIGURES, 75_000);
  for (const _ of values) await history.take();
  const lines = [{ name: 'Reads', values }];
  return renderChart({ title: 'Requests', note: '', lines, format: String }, history.samples);
}

function lineOf(history: History, title: string, name: string): readonly (number | undefined)[] {
  const { samples } = history;
  const charts = [...chartsOfRequests(samples), ...chartsOfResources(samples)];
  const chart = charts.find((each) => each.title === title);
  return chart?.lines.find((line) => line.name === name)?.values ?? [];
}

test('the monitor keeps the samples of five minutes and forgets older ones', async () => {
  const history = newHistory(new Metrics([]));
  for (let count = 0; count < 100; count += 1) await history.take();
  assert.equal(history.samples.length, 61);
  const [first, last] = [history.samples[0], history.samples.at(-1)];
  assert.equal((last?.elapsedMs ?? 0) - (first?.elapsedMs ?? 0), 300_000);
});

test('rates are per second, and a count that begins again at 0 is not negative', async () => {
  const history = newHistory(new Metrics([]));
  const counts = [0, 10, 10, 4];
  for (const count of counts) {
    const metrics = new Metrics([]);
    for (let index = 0; index < count; index += 1) metrics.requestEnded('createPet', 503, 1);
    const clock = { now: () => new Date(0), elapsedMs: () => 5_000 * history.samples.length };
    const one = new History(() => metrics.figures(), { clock });
    await one.take();
    history.samples.push(...one.samples);
  }
  assert.deepEqual(lineOf(history, 'Requests', 'Creates'), [undefined, 2, 0, 0]);
  assert.deepEqual(lineOf(history, 'Errors', '5xx'), [undefined, 2, 0, 0]);
  assert.deepEqual(lineOf(history, 'Errors', '4xx'), [undefined, 0, 0, 0]);
  assert.deepEqual(lineOf(history, 'Requests', 'Reads'), [undefined, 0, 0, 0]);
});

test('an interval without requests has no latency', async () => {
  const metrics = new Metrics([]);
  const history = newHistory(metrics);
  await history.take();
  metrics.requestEnded('listPets', 200, 3);
  await history.take();
  await history.take();
  const [none, measured, idle] = lineOf(history, 'Latency', 'p99');
  assert.deepEqual([none, idle], [undefined, undefined]);
  assert.ok(measured !== undefined && measured > 2.5 && measured <= 5, `p99 is ${measured}`);
});

test('a quantile is interpolated between the bounds of its bucket', () => {
  const empty: Buckets = new Map();
  const counted: Buckets = new Map([
    [0.01, 50],
    [0.1, 90],
    [1, 100],
    [Number.POSITIVE_INFINITY, 100],
  ]);
  assert.equal(quantileOf(empty, counted, 0.5), 10);
  assert.ok(Math.abs((quantileOf(empty, counted, 0.95) ?? 0) - 550) < 1e-6);
  assert.equal(quantileOf(counted, counted, 0.5), undefined);
  const slow: Buckets = new Map([
    [5, 0],
    [Number.POSITIVE_INFINITY, 10],
  ]);
  assert.equal(quantileOf(empty, slow, 0.99), 5_000);
});

test('before the first sample the page has no figures, and a service that counts nothing has gaps and zeros', async () => {
  const history = newHistory(NO_FIGURES);
  const before = await pageOf(history);
  const known = ['Last failure', 'Store', 'Database', 'Uptime', 'Base address'];
  assert.deepEqual(Object.keys(factsOf(before)), known);
  assert.match(before, /sampled every 5 seconds/);
  assert.match(before, /No error responses in this time/);
  assert.deepEqual(new Set(rowsOf(before).map((row) => row.slice(-5))), new Set(['– | –']));
  await history.take();
  const after = await pageOf(history);
  assert.deepEqual(factsOf(after), factsOf(before));
  assert.match(after, /As of <time datetime="1970-01-01T00:00:00.000Z">00:00:00 UTC</);
  assert.deepEqual(
    rowsOf(after).filter((row) => !row.endsWith('– | –')),
    ['In flight | 0 | 0', 'Writes waiting | 0 | 0'],
  );
  assert.equal(rowsOf(after).length, 12);
});

test('the page has the newest value and the peak of every line', async () => {
  const metrics = new Metrics([]);
  const commits = new Histogram([500, 2_000]);
  const gauges = new Map<string, number>();
  const figures = (): Figure[] => [
    ...metrics.figures(),
    commits.figure('petstore_commit_duration_seconds', '', 1000),
    ...[...gauges].map(([name, value]) => gauge(name, '', value)),
  ];
  const history = newHistory({ figures });
  const end = (count: number, ...request: Parameters<Metrics['requestEnded']>) => {
    for (let index = 0; index < count; index += 1) metrics.requestEnded(...request);
  };
  const take = async (inFlight: number, writes: number) => {
    metrics.inFlight = inFlight;
    gauges.set('petstore_writes_waiting', writes);
    await history.take();
  };
  end(9, 'listPets', 200, 400);
  await take(1, 0);
  end(30, 'listPets', 200, 6_000);
  end(31, 'getPet', 200, 6_000);
  end(1, 'getPet', 500, 6_000);
  end(6, 'createPet', 201, 6_000);
  end(1, 'createPet', 400, 6_000);
  end(5, 'other', 499, 1);
  for (let index = 0; index < 10; index += 1) commits.add(1_500);
  // A worker has reported for the first time.
  gauges.set('process_resident_memory_bytes', 300 * 2 ** 20);
  gauges.set('petstore_reads_waiting', 3);
  await take(7, 4);
  end(10, 'listPets', 200, 3);
  end(5, 'other', 200, 400);
  gauges.set('process_resident_memory_bytes', 250 * 2 ** 20);
  gauges.set('petstore_reads_waiting', 0);
  await take(2, 1);
  assert.deepEqual(rowsOf(await pageOf(history)), [
    'Reads | 2 | 12',
    'Creates | 0 | 1.4',
    'Other | 1 | 1',
    'p99 | 5 ms | 5 s',
    'Median | 3.8 ms | 5 s',
    '5xx | 0 | 0.2',
    '4xx | 0 | 1.2',
    'In flight | 2 | 7',
    'Writes waiting | 1 | 4',
    'Reads waiting | 0 | 3',
    'p99 | – | 2 s',
    'Median | – | 1.3 s',
    'Memory | 250 MiB | 300 MiB',
  ]);
  const latency = chartsOfRequests([]).find(({ title }) => title === 'Latency');
  assert.deepEqual(latency && [999, 1_000].map(latency.format), ['999 ms', '1 s']);
});

test('the page has the animals, the keys, the cache hits, the connections, the WAL and the errors of five minutes', async () => {
  const metrics = new Metrics([]);
  const counts = { hits: 10, misses: 10, pets: 100_000 };
  const figures = (): Figure[] => [
    ...metrics.figures(),
    gauge('petstore_cache_hits_total', '', counts.hits),
    gauge('petstore_cache_misses_total', '', counts.misses),
    gauge('petstore_pets', '', counts.pets),
    gauge('petstore_api_keys', '', 1_234),
    gauge('petstore_api_keys_age_seconds', '', 2.5),
    gauge('petstore_pool_connections', '', {
      label: 'state',
      byLabel: [
        ['used', 3],
        ['idle', 2],
      ],
    }),
    gauge('petstore_pool_connections_max', '', 10),
    gauge('petstore_wal_size_bytes', '', 1.5 * 2 ** 20),
  ];
  const history = newHistory({ figures });
  metrics.error('invalid_api_key');
  metrics.error('rate_limited');
  await history.take();
  Object.assign(counts, { hits: 40, misses: 20 });
  metrics.error('pet_not_found');
  for (let index = 0; index < 3; index += 1) metrics.error('rate_limited');
  await history.take();
  const facts = factsOf(await pageOf(history));
  assert.equal(facts['Animals'], '100,000');
  counts.pets += 1;
  assert.equal(factsOf(await pageOf(history))['Animals'], 'about 100,001');
  assert.equal(facts['API keys'], '1,234, read 2.5 s ago');
  assert.equal(facts['Cache hits'], '75 %');
  assert.equal(facts['Connections'], '3 of 10 in use');
  assert.equal(facts['SQLite WAL'], '1.5 MiB');
  const errorsOf = async (service: Partial<MonitoredService>) => {
    const html = await pageOf(history, service);
    return [...html.matchAll(/<th scope="row">(<[ac].*?)<\/th><td>(\d+)</g)].map(
      ([, code, count]) => [code, count],
    );
  };
  const docs = 'http://127.0.0.1:8080/docs/errors';
  assert.deepEqual(await errorsOf({}), [
    [`<a href="${docs}#rate_limited"><code>rate_limited</code></a>`, '3'],
    [`<a href="${docs}#pet_not_found"><code>pet_not_found</code></a>`, '1'],
  ]);
  assert.deepEqual(await errorsOf({ baseUrl: undefined }), [
    ['<code>rate_limited</code>', '3'],
    ['<code>pet_not_found</code>', '1'],
  ]);
});

test('a line has a gap where nothing was measured, and a value between two gaps, or the only one, is a dot', async () => {
  const svg = await chartOf(7, 2, 4, undefined, 1, undefined);
  assert.match(
    svg,
    /class="line0" d="M0\.0 30\.0L0\.0 80\.0L75\.0 60\.0"\/><path class="line0 dots" d="M225\.0 90\.0h0"/,
  );
  assert.match(
    await chartOf(5),
    /class="line0" d=""\/><path class="line0 dots" d="M300\.0 0\.0h0"/,
  );
  assert.match(svg, / d="M0 0H300M0 50H300M0 100H300"/);
});

test('the pointer over a sample of a chart shows its time and its values', async () => {
  const svg = await chartOf(7, 2, undefined);
  const hints = [...svg.matchAll(/<rect x="(.*?)" width="(.*?)" .*?<title>(.*?)<\/title>/gs)];
  assert.deepEqual(
    hints.map(([, ...parts]) => parts),
    [
      ['150.0', '75.0', '00:01:15 UTC\nReads: 2'],
      ['225.0', '75.0', '00:02:30 UTC\nReads: –'],
    ],
  );
});

test('the axis of a chart ends with the next round number', async () => {
  const tops = {
    0: '1',
    0.3: '0.5',
    1: '1',
    1.5: '2',
    2: '2',
    3: '5',
    7: '10',
    12: '20',
    51: '100',
  };
  for (const [value, top] of Object.entries(tops)) {
    const svg = await chartOf(Number(value));
    assert.equal(/class="top"[^>]*>([^<]*)</.exec(svg)?.[1], top, value);
  }
});

test('the axis of a chart with several lines fits the highest', async () => {
  const history = newHistory(NO_FIGURES);
  await history.take();
  const lines = [
    { name: 'Reads', values: [7] },
    { name: 'Writes', values: [2] },
  ];
  const chart = { title: 'Requests', note: '', lines, format: String };
  assert.match(renderChart(chart, history.samples), /class="top"[^>]*>10</);
});

test('the verdict has the base address, if the port is known, and the two largest units of the uptime', () => {
  const addresses: [baseUrl: string | undefined, site: string | undefined][] = [
    ['http://[::1]:8080/v1', 'http://[::1]:8080/'],
    ['http://pets/v1/v1', 'http://pets/v1/'],
    [undefined, undefined],
  ];
  const verdict = { isReady: true, version: undefined, uptimeMs: 0, now: new Date(0) };
  const none = new FigureReader([]);
  for (const [baseUrl, site] of addresses) {
    const service = { ...SERVICE, baseUrl };
    assert.equal(factsOf(renderVerdict(service, verdict, none))['Base address'], baseUrl);
    assert.equal(siteUrlOf(service), site);
  }
  const uptimes: [seconds: number, shown: string][] = [
    [59, 'under a minute'],
    [60, '1 min'],
    [3_900, '1 h 5 min'],
    [86_580, '1 d 3 min'],
    [266_700, '3 d 2 h'],
  ];
  for (const [seconds, shown] of uptimes) {
    const html = renderVerdict(SERVICE, { ...verdict, uptimeMs: 1000 * seconds }, none);
    assert.equal(factsOf(html)['Uptime'], shown);
  }
});

test('the page begins with what a person must do: creates that fail, a full disk, an old backup; then it is not green', async () => {
  const metrics = new Metrics([]);
  const values = { failed: 0, free: 40 * 2 ** 30, backup: 0, hasBackup: true };
  const figures = (): Figure[] => [
    ...metrics.figures(),
    gauge('petstore_last_write_failed', '', values.failed),
    gauge('petstore_disk_free_bytes', '', values.free),
    gauge('petstore_disk_size_bytes', '', 80 * 2 ** 30),
    ...(values.hasBackup
      ? [gauge('petstore_last_backup_timestamp_seconds', '', values.backup)]
      : []),
  ];
  const history = newHistory({ figures });
  const seen = async (nowSeconds: number, isReady = true) => {
    const now = new Date(1000 * nowSeconds);
    const html = await renderMonitor(SERVICE, history, { isReady, uptimeMs: 0, now });
    const [, section, title] = /<section class="card (verdict.*?)">(.*?)<dl/.exec(html) ?? [];
    const titles = [...(title ?? '').matchAll(/<h2>(.*?)</g)].map(([, words]) => words).join('; ');
    const facts = factsOf(html);
    const names = ['New animals', 'Disk free', 'Newest backup', 'Last failure'];
    return [section, titles, ...names.map((name) => facts[name])];
  };
  const day = 86_400;
  await history.take();
  metrics.error('pet_not_found');
  await history.take();
  const free = '40.0 GiB (50 %)';
  const none = 'none since the start';
  const well = ['verdict', 'The service is ready', 'accepted', free, '1 d 2 h old', none];
  assert.deepEqual(await seen(day + 7_200), well);
  values.failed = 1;
  values.free = 300 * 2 ** 20;
  metrics.error('unavailable');
  await history.take();
  // Whoever comes in the morning sees the failure of the night.
  for (let count = 0; count < 100; count += 1) await history.take();
  assert.deepEqual(await seen(3 * day), [
    'verdict failing',
    'The store cannot take new animals; The disk of the store is nearly full; The newest backup is older than two days',
    'refused',
    '300 MiB (0 %)',
    '3 d old',
    '1970-01-01 00:00 UTC: The store could not take new animals.',
  ]);
  // A store that does not respond refuses everything: that it refuses animals too is no news.
  values.failed = 0;
  values.hasBackup = false;
  metrics.error('internal_error');
  await history.take();
  assert.deepEqual(await seen(3 * day, false), [
    'verdict failing',
    'The service is not ready; The disk of the store is nearly full',
    'refused',
    '300 MiB (0 %)',
    'none with --keep',
    '1970-01-01 00:08 UTC: The service failed; its log has the cause under the request id.',
  ]);
});

test('a service that cannot say whether it is ready is not, and its uptime begins with the monitor', async () => {
  const times = { elapsedMs: 60_000 };
  const monitor = openMonitor({
    ...SERVICE,
    figures: () => [],
    isReady: () => Promise.reject(new Error('test')),
    clock: { now: () => new Date(0), elapsedMs: () => times.elapsedMs },
  });
  times.elapsedMs += 120_000;
  const page = new Map(monitor.pages).get('/');
  const request = {
    method: 'GET',
    target: '/',
    headers: {},
    readBody: async () => Buffer.alloc(0),
  };
  const html = String((await page?.(request))?.body);
  assert.match(html, /The service is not ready/);
  assert.equal(factsOf(html)['Uptime'], '2 min');
});
