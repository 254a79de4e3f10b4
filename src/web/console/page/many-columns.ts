import { element } from './dom.ts';
import type { Table } from './many-list.ts';

const CELL_LENGTH_MAX = 60;
const COLUMNS_MAX = 100;
const FIELDS = ['Name', 'Category', 'Status'];

/** The first lines of a table, and a choice of the column of each field. Calls back with the numbers of the columns. */
export function columnChooser(
  { rows, columns }: Table,
  onChoice: (columns: number[]) => void,
): HTMLElement {
  const [headings = []] = rows;
  const shown = headings.slice(0, COLUMNS_MAX);
  const selects = FIELDS.map((field, at) => {
    const select = element('select', { id: `many-${field}` });
    const none = element('option', { value: '' }, field === 'Status' ? 'None' : 'Choose …');
    select.append(none, ...shown.map((heading, index) => columnOption(heading, index + 1)));
    select.value = String(columns[at] ?? '');
    select.addEventListener('change', choose);
    return select;
  });

  const twice = element('p', { class: 'field-fault', role: 'alert' });

  function choose(): void {
    const [name, category, status] = selects.map(({ value }) => Number(value));
    const chosen = [name, category, status].filter((number) => number);
    const isTwice = new Set(chosen).size < chosen.length;
    twice.textContent = isTwice ? 'One column cannot be two of them: choose another.' : '';
    if (name && category && !isTwice) onChoice([name, category, ...(status ? [status] : [])]);
  }

  const labels = selects.map((select, at) =>
    element('div', {}, element('label', { for: select.id }, FIELDS[at] ?? ''), select),
  );
  const lines = rows.map((row) => {
    const cells = shown.map((_, at) => (row[at] ?? '').slice(0, CELL_LENGTH_MAX));
    return element('tr', {}, ...cells.map((cell) => element('td', {}, cell)));
  });
  const numbers = shown.map((_, at) => element('th', { scope: 'col' }, String(at + 1)));
  const table = element(
    'table',
    {},
    element('caption', {}, 'The first lines'),
    element('thead', {}, element('tr', {}, ...numbers)),
    element('tbody', {}, ...lines),
  );
  const summary = element('summary', {}, 'Which column is which?');
  const scroller = element(
    'div',
    { class: 'columns', tabindex: '0', role: 'region', 'aria-label': 'The first lines' },
    table,
  );
  const fields = element('div', { class: 'fields' }, ...labels);
  const details = element('details', {}, summary, fields, twice, scroller);
  details.open = columns.slice(0, 2).includes(null);
  return details;
}

function columnOption(heading: string, number: number): HTMLOptionElement {
  const name = heading.trim().slice(0, CELL_LENGTH_MAX);
  return element(
    'option',
    { value: String(number) },
    `${number}${name === '' ? '' : ` · ${name}`}`,
  );
}
