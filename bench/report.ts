import { renderTable } from '../src/cli/terminal.ts';
import type { Row } from './bench.ts';

const NOT_MEASURED = 'not measured';

/** What stands between these two lines of docs/benchmarks.md is written by hand and kept. */
const KEPT_FROM = '<!-- by hand: from here -->';
const KEPT_TO = '<!-- by hand: to here -->';

/** The table as a terminal shows it. */
export function tableForTerminal(rows: readonly Row[], machine: readonly string[]): string {
  const cells = [
    ['', 'MUST SHOW', 'SHOWS: median (lowest – highest)', '', 'FIGURES'],
    ...rows.map((row) => [row.what, row.target, row.shown ?? NOT_MEASURED, verdict(row), row.note]),
  ];
  return `${renderTable(cells)}\n${machine.join('\n')}\n`;
}

function verdict({ isMet }: Row): string {
  if (isMet === undefined) return '';
  return isMet ? 'yes' : 'no';
}

const INTRODUCTION = `# Benchmarks

Made by \`npm run bench\`; do not edit what is outside the marked part. The figures are ratios, because a
rate tells something only about the machine it was measured on. Every contender is one process on one core
and gets the same load from 32 connections; rounds alternate between the contenders, and a ratio is the
median of the ratios of neighbouring rounds, with the lowest and the highest behind it. Servers that keep
their core busy (lists and gets) are compared by the requests that a second of processor time answers: on a
quiet machine that is their rate, on a busy one it strays less. Those that wait for a disk or a database are
compared by their rate, and a busy machine disturbs it. A figure that falls short of what it must show is reported as it was measured.

| contender | what it is |
|---|---|
| petstore | this service with its default settings: keys, validation, metrics, log |
| bare | \`node:http\` that answers with the same headers and bytes from a constant: the limit |
| bare-sqlite | \`node:http\`, \`node:sqlite\`, \`JSON.stringify\`, and nothing else: no keys, no checks |
| typical | Fastify with schemas and a key check, \`node:sqlite\`, one durable commit a create |
| bare-pg | \`node:http\` and \`pg\` with its pool, one query a request: no keys, no checks |
| json-server | json-server with its default settings, 1,000 animals |
`;

/** The whole of docs/benchmarks.md; the part by hand is taken from the page as it was. */
export function benchmarksPage(options: {
  rows: readonly Row[];
  machine: readonly string[];
  chartFile: string;
  before: string;
}): string {
  const { rows, machine, chartFile, before } = options;
  const lines = rows.map(
    (row) =>
      `| ${row.what} | ${row.target} | ${row.shown ?? NOT_MEASURED} | ${verdict(row)} | ${row.note} |`,
  );
  return [
    INTRODUCTION,
    '## The machine\n',
    ...machine.map((line) => `- ${line}`),
    '\n## What it must show, and what it shows\n',
    '| | must show | shows: median (lowest – highest) | reached | figures |',
    '|---|---|---|---|---|',
    ...lines,
    `\n![How far each figure reaches what it must show](${chartFile})\n`,
    KEPT_FROM,
    keptPart(before),
    KEPT_TO,
    '',
  ].join('\n');
}

export function keptPart(page: string): string {
  const from = page.indexOf(KEPT_FROM);
  const to = page.indexOf(KEPT_TO);
  return from === -1 || to < from ? '' : page.slice(from + KEPT_FROM.length, to).trim();
}
