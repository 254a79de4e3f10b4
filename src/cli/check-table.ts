import {
  summaryOf,
  type Report,
  type ReportedClause,
  type ReportedResult,
} from '../../check/report.ts';
import type { Io } from './command.ts';
import { newPaint, wrapText, type Paint } from './terminal.ts';

const MARKS: Record<
  ReportedResult['verdict'],
  { mark: string; colour: 'green' | 'red' | 'yellow' }
> = {
  kept: { mark: '✓', colour: 'green' },
  broken: { mark: '✗', colour: 'red' },
  'not-checkable': { mark: '–', colour: 'yellow' },
};

const CONTINUED_INDENT = 2;

/** The result of a check for people: one line per clause, grouped by section of the specification. */
export function checkTable(report: Report, io: Pick<Io, 'stdout' | 'env'>): string {
  const paint = newPaint(io);
  const lines = [`${report.addresses.join(' and ')} against the ${report.specification}`];
  for (const [section, clauses] of Map.groupBy(report.clauses, (clause) => clause.section)) {
    lines.push('', paint('bold', section));
    for (const clause of clauses) lines.push(...linesOf(clause, report, paint));
  }
  if (report.differences.length > 0) lines.push('', paint('bold', 'Differences'));
  for (const difference of report.differences) lines.push(`  ${difference}`);
  lines.push('', paint('bold', summaryOf(report)), ...remediesOf(report));
  const { isTTY, columns } = io.stdout;
  const fitted = isTTY === true && columns !== undefined ? lines.flatMap(wrapAt(columns)) : lines;
  return `${fitted.join('\n')}\n`;
}

/** Wraps a line; the rest is indented below the start of the text. */
function wrapAt(width: number): (line: string) => string[] {
  return (line) => {
    const [indent = ''] = /^ */.exec(line) ?? [];
    const rest = ' '.repeat(indent.length && indent.length + CONTINUED_INDENT);
    const [first = '', ...others] = wrapText(line.slice(indent.length), width - rest.length);
    return [`${indent}${first}`, ...others.map((part) => `${rest}${part}`)];
  };
}

/** How to check the clauses that this run could not check. */
function remediesOf({ clauses, write, addresses }: Report): string[] {
  const count = (remedy: string) =>
    clauses.filter(({ results }) => results.some(({ why = '' }) => why.includes(remedy))).length;
  const [writing, comparing] = [count('--write'), count('second address')];
  return [
    ...(writing > 0 && !write
      ? [`${writing} more can be checked with --write, which adds animals to the catalogue.`]
      : []),
    ...(comparing > 0 && addresses.length === 1
      ? [`${comparing} more can be checked with a second address, such as that of staging.`]
      : []),
  ];
}

function linesOf(
  { id, sentence, results }: ReportedClause,
  { addresses }: Report,
  paint: Paint,
): string[] {
  const marks = results.map(({ verdict }) => paint(MARKS[verdict].colour, MARKS[verdict].mark));
  // There is one column per address; a verdict about both addresses is in the first.
  const padding = '  '.repeat(addresses.length - results.length);
  return [
    `  ${marks.join(' ')}${padding} ${sentence} ${paint('dim', id)}`,
    ...results.flatMap((result) => detailsOf(result, results.length > 1, paint)),
  ];
}

function detailsOf(result: ReportedResult, isOneOfTwo: boolean, paint: Paint): string[] {
  if (result.verdict === 'kept') return [];
  const details = {
    address: isOneOfTwo ? result.address : undefined,
    request: result.request,
    response: result.answer,
    expected: result.expected,
    'not checked': result.why,
  };
  return Object.entries(details)
    .filter(([, text]) => typeof text === 'string')
    .map(([label, text]) => `      ${paint('dim', `${label}:`)} ${text}`);
}
