import { completeColumns, type ColumnGuess } from '../../../pet-file/columns.ts';
import {
  layoutWords,
  sampleTable,
  UnknownColumns,
  type TableSample,
} from '../../../pet-file/layout.ts';
import { unitOf } from '../../../pet-file/pet-reader.ts';
import { button, element } from './dom.ts';
import { grouped } from './fields.ts';
import { newColumnChooser } from './many-columns.ts';
import type { ManyText } from './many-input.ts';
import { readRows, type Preview } from './many-rows.ts';
import { petName, statusChip } from './pet.ts';

const ROWS_SHOWN_MAX = 5;
const FAULTS_SHOWN_MAX = 20;
const WORDS_SHOWN_MAX = 5;
const WORD_LENGTH_MAX = 30;
/** A word with a character that is different in another encoding. */
const NOT_ASCII = /[^\s,;"]*[^\0-\x7f,;"\s][^\s,;"]*/g;

export interface PreviewEvents {
  start: (preview: Preview) => void;
  /** Marks the rows that this browser has added before. */
  markSeen: (preview: Preview) => void;
}

/** What would be added, and which lines have faults. The columns of a table can be chosen. */
export function previewView(list: ManyText | Error, on: PreviewEvents): HTMLElement {
  if (list instanceof Error) return errorView(list);
  const view = element('div', {});
  const note = list.encoding === 'windows-1252' ? [encodingNote(list.text)] : [];
  try {
    const preview = readRows(list.text);
    view.append(...outcome(preview, on), ...animalsView(preview, on));
    if (preview.layout.format === 'csv') {
      const { columns } = preview.layout;
      const choose = button('Choose other columns', () => {
        const sample = sampleTable(new TextEncoder().encode(list.text));
        const chooser = chooserView(list.text, { ...sample, guess: columns }, on);
        view.replaceChildren(...chooser);
        view.querySelector('select')?.focus();
      });
      choose.className = 'quiet';
      view.querySelector('.actions')?.append(choose);
    }
  } catch (error) {
    if (error instanceof UnknownColumns) {
      view.append(...chooserView(list.text, error.sample, on));
    } else {
      view.append(errorView(error));
    }
  }
  return element('div', { class: 'preview' }, ...note, view);
}

function errorView(error: unknown): HTMLElement {
  const words = error instanceof Error ? error.message : String(error);
  return element('div', { class: 'notice fault', role: 'alert' }, words);
}

/** The chooser of the columns, and the preview that follows from it. */
function chooserView(text: string, sample: TableSample, on: PreviewEvents): HTMLElement[] {
  const below = element('div', {});
  const show = (guess: ColumnGuess): void => {
    const columns = completeColumns(guess);
    if (columns === undefined) {
      const words = 'Choose the column of the name and that of the category.';
      return below.replaceChildren(element('p', { role: 'status' }, words));
    }
    try {
      const preview = readRows(text, columns);
      const { layout } = preview;
      chooser.showHeadings(layout.format === 'csv' && layout.hasHeadings);
      below.replaceChildren(...outcome(preview, on), startButton(preview, on));
    } catch (error) {
      below.replaceChildren(errorView(error));
    }
  };
  const chooser = newColumnChooser(sample, show);
  show(sample.guess);
  return [chooser.view, below];
}

/** How the list is read, what is left out, and what is not added again. */
function outcome(preview: Preview, on: PreviewEvents): HTMLElement[] {
  const { layout, rows, faults, trimmed } = preview;
  on.markSeen(preview);
  const seen = rows.filter(({ isSeen }) => isSeen).length;
  return [
    element('p', { role: 'status' }, layoutWords(layout)),
    ...(faults.length > 0 ? [faultList(preview)] : []),
    ...(trimmed > 0
      ? [element('p', { class: 'small' }, `Space was removed around ${names(trimmed)}.`)]
      : []),
    ...(seen > 0 ? [seenNote(seen, rows.length)] : []),
  ];
}

function animalsView(preview: Preview, on: PreviewEvents): HTMLElement[] {
  const { layout, rows } = preview;
  if (rows.length === 0) return [];
  const unit = unitOf(layout) === 'item' ? 'Item' : 'Line';
  const rest = rows.length - ROWS_SHOWN_MAX;
  return [
    element(
      'table',
      {},
      element('caption', {}, 'What will be added'),
      element('thead', {}, element('tr', {}, ...[unit, 'Name', 'Category', 'Status'].map(head))),
      element(
        'tbody',
        {},
        ...rows
          .slice(0, ROWS_SHOWN_MAX)
          .map(({ line, pet }) =>
            element(
              'tr',
              {},
              element('td', { class: 'id' }, String(line)),
              element('td', {}, petName(pet.name)),
              element('td', { class: 'category' }, String(pet.categoryId)),
              element('td', { class: 'of-status' }, statusChip(pet.status ?? 'available')),
            ),
          ),
      ),
    ),
    element('p', { class: 'small' }, rest > 0 ? `and ${grouped(rest)} more` : ''),
    startButton(preview, on),
  ];
}

function startButton(preview: Preview, on: PreviewEvents): HTMLElement {
  const { length } = preview.rows;
  const label = length === 1 ? 'Add 1 animal' : `Add ${grouped(length)} animals`;
  const start = length === 0 ? [] : [button(label, () => on.start(preview), 'primary')];
  return element('div', { class: 'actions' }, ...start);
}

function encodingNote(text: string): HTMLElement {
  const words = new Set(Array.from(text.matchAll(NOT_ASCII), ([word]) => word));
  const shown = [...words].slice(0, WORDS_SHOWN_MAX).map((word) => word.slice(0, WORD_LENGTH_MAX));
  return element(
    'div',
    { class: 'notice' },
    element('p', { class: 'title' }, 'Read as Windows-1252, as Excel saves CSV'),
    element('p', {}, 'The file is not UTF-8. Check that these words are right: '),
    element('p', { class: 'words' }, ...shown.map((word) => element('b', {}, word))),
    element('p', {}, 'If they are not, save the file as “CSV UTF-8”, or paste its cells.'),
  );
}

function seenNote(seen: number, count: number): HTMLElement {
  const all = seen === count;
  const verb = seen === 1 ? 'was' : 'were';
  return element(
    'div',
    { class: 'notice seen' },
    element(
      'p',
      { class: 'title' },
      all
        ? 'This list was added before'
        : `${grouped(seen)} of these ${grouped(count)} lines ${verb} added before`,
    ),
    element(
      'p',
      {},
      'From this browser, in the last 24 hours. They are not added twice; afterwards you can add them again on purpose.',
    ),
  );
}

function names(count: number): string {
  return count === 1 ? '1 name' : `${grouped(count)} names`;
}

function head(name: string): HTMLElement {
  const kind = { Line: 'id', Item: 'id', Category: 'category', Status: 'of-status' }[name] ?? '';
  return element('th', { scope: 'col', class: kind }, name);
}

function faultList({ layout, rows, faults }: Preview): HTMLElement {
  const rest = faults.length - FAULTS_SHOWN_MAX;
  const unit = unitOf(layout);
  const lines = faults.length === 1 ? `1 ${unit} has` : `${grouped(faults.length)} ${unit}s have`;
  const leftOut =
    faults.length === 1
      ? 'It is left out unless you correct it above.'
      : 'They are left out unless you correct them above.';
  const what = rows.length === 0 ? 'Nothing can be added.' : leftOut;
  return element(
    'div',
    { class: 'notice fault', role: 'status' },
    element('p', { class: 'title' }, `${lines} a fault`),
    element('p', {}, what),
    element(
      'ul',
      { class: 'faults' },
      ...faults
        .slice(0, FAULTS_SHOWN_MAX)
        .map(({ line, reason }) =>
          element(
            'li',
            {},
            element('b', {}, `${unit === 'item' ? 'Item' : 'Line'} ${line}`),
            ` ${reason}`,
          ),
        ),
    ),
    element('p', {}, rest > 0 ? `and ${grouped(rest)} more` : ''),
  );
}
