import { escapeHtml } from '../html.ts';
import { SPAN_MS, type Sample } from './history.ts';
import type { Chart, Line } from './series.ts';

/** The size of the plot in units of the SVG, which the style sheet stretches. */
const WIDTH = 300;
const HEIGHT = 100;
/** A time of day with seconds in an ISO date. */
const TIME = { from: 11, to: 19 };

export function timeOf({ at }: Sample): string {
  return at.toISOString().slice(TIME.from, TIME.to);
}

/** A chart with its legend. The numbers are text, so that the drawing is not needed to read them. */
export function renderChart(chart: Chart, samples: readonly Sample[]): string {
  const { title, note, lines, format, kind = '' } = chart;
  const top = niceCeiling(Math.max(...lines.map(peakOf)));
  const rows = lines.map(
    (line, index) =>
      `<tr><th scope="row"><svg class="key line${index}" viewBox="0 0 20 8" aria-hidden="true"><path d="M0 4H20"/></svg>${escapeHtml(line.name)}</th><td>${shown(line.values.at(-1), format)}</td><td>${shown(peakOf(line), format)}</td></tr>`,
  );
  return `<section class="card chart ${kind}">
<h2>${title} <span class="small">${escapeHtml(note)}</span></h2>
<div class="plot"><span class="top" aria-hidden="true">${format(top)}</span>
${plot(chart, samples, top)}
</div>
<p class="axis small" aria-hidden="true"><span>5 minutes ago</span><span>now</span></p>
<table><caption class="hidden">${title}</caption><thead><tr><td></td><th scope="col">Now</th><th scope="col">Peak</th></tr></thead><tbody>${rows.join('')}</tbody></table>
</section>`;
}

function plot({ title, lines, format }: Chart, samples: readonly Sample[], top: number): string {
  const end = samples.at(-1)?.elapsedMs ?? 0;
  const places = samples.map(({ elapsedMs }) =>
    Math.max(0, WIDTH * (1 - (end - elapsedMs) / SPAN_MS)),
  );
  const paths = lines.map(({ values }, index) => {
    const { line, dots } = pathsOf(values, places, top);
    return `<path class="line${index}" d="${line}"/><path class="line${index} dots" d="${dots}"/>`;
  });
  const grid = [0, 0.5, 1].map((share) => `M0 ${HEIGHT * share}H${WIDTH}`).join('');
  return `<svg class="lines" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title} in the last five minutes"><path class="grid" d="${grid}"/>${paths.toReversed().join('')}${hints(lines, samples, places, format)}</svg>`;
}

/** A gap in the values is a gap in the line. A value without neighbours is a dot, also if it is the only one. */
function pathsOf(
  values: Line['values'],
  places: readonly number[],
  top: number,
): { line: string; dots: string } {
  const paths = { line: '', dots: '' };
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue;
    const point = `${(places[index] ?? 0).toFixed(1)} ${(HEIGHT * (1 - value / top)).toFixed(1)}`;
    if (values[index - 1] !== undefined) paths.line += `L${point}`;
    else if (values[index + 1] !== undefined) paths.line += `M${point}`;
    else paths.dots += `M${point}h0`;
  }
  return paths;
}

/** Invisible rectangles with titles: browsers show the values of the sample below the pointer. */
function hints(
  lines: readonly Line[],
  samples: readonly Sample[],
  places: readonly number[],
  format: Chart['format'],
): string {
  const parts = samples.map((sample, index) => {
    const values = lines.map(({ name, values: all }) => `${name}: ${shown(all[index], format)}`);
    const [from = 0, to = 0] = places.slice(index - 1, index + 1);
    const title = `<title>${escapeHtml([`${timeOf(sample)} UTC`, ...values].join('\n'))}</title>`;
    return `<rect x="${from.toFixed(1)}" width="${(to - from).toFixed(1)}" height="${HEIGHT}">${title}</rect>`;
  });
  return parts.slice(1).join('');
}

function shown(value: number | undefined, format: Chart['format']): string {
  return value === undefined || value === Number.NEGATIVE_INFINITY ? '–' : format(value);
}

/** Negative infinity if there is no value. */
function peakOf({ values }: Line): number {
  return Math.max(...values.map((value) => value ?? Number.NEGATIVE_INFINITY));
}

/** The next of 1, 2, 5, 10, 20, 50 …, so that the axis ends with a round number. */
function niceCeiling(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10);
}
