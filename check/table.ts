import { styleText } from 'node:util';
import { summaryOf, type Report, type ReportedClause } from './report.ts';

const MARKS = {
  kept: { mark: '✓', colour: 'green' },
  broken: { mark: '✗', colour: 'red' },
  'not-checkable': { mark: '–', colour: 'yellow' },
} as const;

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow';

/** A report for people: one line per clause, in the order of the specification. */
export function tableOf(report: Report, { hasColours }: { hasColours: boolean }): string {
  const paint = (style: Style, text: string) =>
    hasColours ? styleText(style, text, { validateStream: false }) : text;
  const lines = [`${report.address} against the ${report.specification}`];
  for (const [section, clauses] of Map.groupBy(report.clauses, (clause) => clause.section)) {
    lines.push('', paint('bold', section));
    for (const clause of clauses) {
      const { mark, colour } = MARKS[clause.verdict];
      lines.push(`  ${paint(colour, mark)} ${clause.sentence} ${paint('dim', clause.id)}`);
      for (const [label, text] of detailsOf(clause)) {
        lines.push(`      ${paint('dim', `${label}:`)} ${text}`);
      }
    }
  }
  lines.push('', paint('bold', summaryOf(report)), ...remedyOf(report));
  return `${lines.join('\n')}\n`;
}

function detailsOf({ request, response, expected, why }: ReportedClause): [string, string][] {
  const details = { request, response, expected, 'not checked': why };
  return Object.entries(details).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
}

function remedyOf({ clauses, write }: Report): string[] {
  const count = clauses.filter(({ why = '' }) => why.includes('--write')).length;
  if (write || count === 0) return [];
  return [`${count} more can be checked with --write, which adds animals to the catalogue.`];
}
