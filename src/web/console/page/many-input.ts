import { button, element } from './dom.ts';
import { isTooLong, type Choice, type Fault, type List } from './many-list.ts';

/** The text is read when the user has stopped typing for this long. */
const READ_DELAY_MS = 300;

export interface ManyInput {
  view: HTMLElement;
  text: HTMLTextAreaElement;
  /** Takes a file that was chosen or dropped. */
  read: (file: File) => void;
  /** Shows a list as text, and is not called back. */
  show: (list: List, encoding?: Choice['encoding']) => void;
}

/** The input for a list: pasted, typed, chosen or dropped. A file stays as it is until its text is changed. */
export function newInput(onList: (list: List) => void): ManyInput {
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
  const show: ManyInput['show'] = (list, encoding) => {
    clearTimeout(timer);
    if (typeof list === 'string') text.value = list;
    else if (isTooLong(list)) text.value = '';
    else void textOf(list, encoding).then((found) => (text.value = found));
  };
  const read = (chosen: File): void => {
    show(chosen);
    onList(chosen);
  };
  text.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => onList(text.value), READ_DELAY_MS);
  });
  file.addEventListener('change', () => {
    const [chosen] = file.files ?? [];
    file.value = '';
    if (chosen !== undefined) read(chosen);
  });
  return { view: inputView(text, file), text, read, show };
}

/** The text of a file, by the mark of UTF-16 or as named. Empty for what cannot be read, which nobody can correct here. */
async function textOf(file: File, encoding: Choice['encoding']): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const marked = { '255,254': 'utf-16le', '254,255': 'utf-16be' }[bytes.slice(0, 2).join()];
  try {
    return new TextDecoder(marked ?? encoding ?? 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    return '';
  }
}

/** Selects lines of the text, so that a person finds them. */
export function selectLines(text: HTMLTextAreaElement, { line, lines }: Fault): void {
  const before = text.value
    .split('\n')
    .slice(0, line - 1)
    .join('\n').length;
  const start = line === 1 ? 0 : before + 1;
  const length = text.value.slice(start).split('\n').slice(0, lines).join('\n').length;
  text.setSelectionRange(start, start + length);
  // A browser scrolls to the selection when the text gets the focus.
  text.blur();
  text.focus();
}

function inputView(text: HTMLElement, file: HTMLInputElement): HTMLElement {
  return element(
    'div',
    {},
    element('label', { for: 'many-text' }, 'Paste CSV, cells of a spreadsheet or JSON'),
    element(
      'p',
      { id: 'many-help', class: 'small' },
      'A table has a column for the name, one for the category and, if you want, one for the status. JSON is an array, or one object per line. You can also drop a file anywhere on this page.',
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
