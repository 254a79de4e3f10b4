import { parseColumns } from '../pet-file/columns.ts';
import { shownHeading, type TableSample } from '../pet-file/layout.ts';
import { printable } from '../domain/printable.ts';
import { renderTable } from './terminal.ts';

const COLUMNS_SHOWN_MAX = 20;
const CELLS_SHOWN_MAX = 3;
const CELL_LENGTH_MAX = 20;

/** The option that says which column is which. */
export const COLUMNS_OPTION = {
  value: 'NUMBERS',
  description: 'the columns of name, category and, if there is one, status, by number',
  parse: parseColumns,
  mustBe: 'two or three numbers such as 2,3,4, of the columns of name, category and status',
};

/** What a person needs to give `--columns`: the columns with their first cells, as a table, and the option. */
export function columnsAdvice({ rows, guess }: TableSample): string[] {
  const [headings = [], ...lines] = rows;
  const columns = headings.slice(0, COLUMNS_SHOWN_MAX).map((heading, at) => {
    const cells = lines.slice(0, CELLS_SHOWN_MAX).map((row) => shortened(row[at] ?? ''));
    const texts = [shownHeading(heading), ...(cells.length > 0 ? [cells.join(' | ')] : [])];
    return [`  ${at + 1}`, ...texts.map(printable)];
  });
  const rest = headings.length - COLUMNS_SHOWN_MAX;
  const { name, categoryId, status } = guess;
  const unnamed = [...headings.keys()].filter((at) => ![name, categoryId, status].includes(at));
  const numbers = [name ?? unnamed.shift(), categoryId ?? unnamed.shift(), status];
  return [
    'Its columns, with their first cells:',
    ...renderTable(columns).trimEnd().split('\n'),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
    'Add the numbers of name, category and, if there is one, status to the command, for example:',
    `  --columns ${numbers.flatMap((at) => (at === undefined ? [] : [at + 1])).join(',')}`,
  ];
}

function shortened(cell: string): string {
  return cell.length > CELL_LENGTH_MAX ? `${cell.slice(0, CELL_LENGTH_MAX)}…` : cell;
}
