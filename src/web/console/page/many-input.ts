import { findText, isSpreadsheet, type Encoding } from '../../../pet-file/encoding.ts';
import { button, element } from './dom.ts';
import { BYTES_MAX, tooLarge } from './many-rows.ts';

/** The text is read when the user has stopped typing for this long. */
const READ_DELAY_MS = 200;
const SPREADSHEET_WORDS =
  'This is an Excel file, or one of another spreadsheet: copy its cells and paste them here.';
const NO_TEXT_WORDS =
  'This file is not text. Save the table as CSV, or copy its cells and paste them here.';

/** A list as it was typed, pasted, chosen or dropped. */
export interface ManyText {
  text: string;
  encoding: Encoding;
}

export interface ManyInput {
  view: HTMLElement;
  read: (file: File) => Promise<void>;
  clear: () => void;
  focus: () => void;
}

/** The input for a list: pasted, typed, chosen or dropped. Calls back on each change, with undefined if empty. */
export function newInput(onChange: (list: ManyText | Error | undefined) => void): ManyInput {
  const text = element('textarea', {
    id: 'many-text',
    rows: '6',
    spellcheck: 'false',
    placeholder: 'name,categoryId,status\nRex,7,available\n"Mimi, the cat",3,',
    'aria-describedby': 'many-help',
  });
  const file = element('input', {
    type: 'file',
    // A spreadsheet cannot be read, but whoever chooses one is told what to do instead.
    accept: '.csv,.tsv,.tab,.txt,.json,.ndjson,.jsonl,.xlsx,.xls,.ods',
    hidden: '',
  });
  let timer: ReturnType<typeof setTimeout> | undefined;

  const show = (list: ManyText): void => onChange(list.text === '' ? undefined : list);
  const read = async (chosen: File): Promise<void> => {
    clearTimeout(timer);
    const bytes = new Uint8Array(await chosen.slice(0, BYTES_MAX + 1).arrayBuffer());
    const found = isSpreadsheet(bytes) ? undefined : findText(bytes);
    text.value = bytes.length > BYTES_MAX ? '' : (found?.text ?? '');
    if (isSpreadsheet(bytes)) return onChange(new Error(SPREADSHEET_WORDS));
    if (bytes.length > BYTES_MAX) return onChange(tooLarge());
    if (found === undefined) return onChange(new Error(NO_TEXT_WORDS));
    show(found);
  };
  text.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => show({ text: text.value, encoding: 'utf-8' }), READ_DELAY_MS);
  });
  file.addEventListener('change', () => {
    const [chosen] = file.files ?? [];
    file.value = '';
    if (chosen !== undefined) void read(chosen);
  });
  const view = inputView(text, file);
  const clear = (): void => {
    text.value = '';
    onChange(undefined);
  };
  return { view, read, clear, focus: () => text.focus() };
}

function inputView(text: HTMLElement, file: HTMLInputElement): HTMLElement {
  return element(
    'div',
    {},
    element('label', { for: 'many-text' }, 'Paste CSV, cells of a spreadsheet or JSON'),
    element(
      'p',
      { id: 'many-help', class: 'small' },
      'A table has a column for the name, one for the category and, if you want, one for the status, with any headings or none. JSON is an array, or one object per line. You can also drop a file anywhere on this page.',
    ),
    text,
    element(
      'div',
      { class: 'actions' },
      button('Choose a file', () => file.click()),
      file,
    ),
  );
}
