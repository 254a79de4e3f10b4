import { withChoice, type ColumnGuess, type Field } from '../../../pet-file/columns.ts';
import type { TableSample } from '../../../pet-file/layout.ts';
import { element } from './dom.ts';

const ROWS_SHOWN_MAX = 6;
const CELL_LENGTH_MAX = 60;
const CHOICES: [value: Field | '', label: string][] = [
  ['', 'Not used'],
  ['name', 'Name'],
  ['categoryId', 'Category'],
  ['status', 'Status'],
];

export interface ColumnChooser {
  view: HTMLElement;
  /** Marks the first line as headings, if the reader took it for that. */
  showHeadings: (hasHeadings: boolean) => void;
}

/** The first lines of a table with a choice above each column. A field has one column. */
export function newColumnChooser(
  { rows, guess }: TableSample,
  onChange: (guess: ColumnGuess) => void,
): ColumnChooser {
  const [headings = []] = rows;
  let choice = guess;
  const selects = headings.map((heading, at) =>
    newSelect(heading, at, (field) => {
      choice = withChoice(choice, at, field);
      show();
      onChange(choice);
    }),
  );
  const heads = selects.map((select) => element('th', { scope: 'col' }, select));
  const lines = rows.slice(0, ROWS_SHOWN_MAX).map((row) => {
    const cells = headings.map((_, at) => (row[at] ?? '').slice(0, CELL_LENGTH_MAX));
    return cells.map((cell) => element('td', {}, cell));
  });
  const show = (): void => {
    for (const [at, select] of selects.entries()) {
      const [field] = Object.entries(choice).find(([, column]) => column === at) ?? [''];
      select.value = field;
      for (const line of [heads, ...lines]) line[at]?.classList.toggle('unused', field === '');
    }
  };
  show();
  const [first, ...others] = lines.map((cells) => element('tr', {}, ...cells));
  const table = element(
    'table',
    {},
    element('caption', {}, 'Which column is which?'),
    element('thead', {}, element('tr', {}, ...heads)),
    element('tbody', {}, ...(first === undefined ? [] : [first]), ...others),
  );
  return {
    view: element('div', { class: 'columns' }, table),
    showHeadings: (hasHeadings) => first?.classList.toggle('headings', hasHeadings),
  };
}

function newSelect(
  heading: string,
  at: number,
  onChoice: (field: Field | undefined) => void,
): HTMLSelectElement {
  const name = heading.trim().slice(0, CELL_LENGTH_MAX);
  const label = `Column ${at + 1}${name === '' ? '' : `, ${name}`}`;
  const select = element('select', { 'aria-label': label });
  select.append(...CHOICES.map(([value, text]) => element('option', { value }, text)));
  select.addEventListener('change', () => {
    onChoice(CHOICES.find(([value]) => value === select.value)?.[0] || undefined);
  });
  return select;
}
