import type { Row } from './bench.ts';

const NOT_MEASURED = 'not measured';

/** The table as a terminal shows it. */
export function tableForTerminal(rows: readonly Row[], machine: readonly string[]): string {
  const cells = [
    ['', 'MUST SHOW', 'SHOWS: median (lowest – highest)', '', 'FIGURES'],
    ...rows.map((row) => [row.what, row.target, row.shown ?? NOT_MEASURED, verdict(row), row.note]),
  ];
  const widths = cells[0]?.map((_, column) =>
    Math.max(...cells.map((line) => line[column]?.length ?? 0)),
  );
  const lines = cells.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths?.[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${[...lines, '', ...machine].join('\n')}\n`;
}

export function verdict({ isMet }: Row): string {
  if (isMet === undefined) return '';
  return isMet ? 'yes' : 'no';
}
