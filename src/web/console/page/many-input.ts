import { button, element } from './dom.ts';
import { BYTES_MAX, readRows, tooLarge, type Preview } from './many-rows.ts';

/** Typing ends before the text is read again. */
const READ_DELAY_MS = 200;

export interface ManyInput {
  view: HTMLElement;
  read: (file: File) => Promise<void>;
  clear: () => void;
  focus: () => void;
}

/** Where a list is pasted, typed, chosen or dropped. Each change is read and handed on; an empty text as undefined. */
export function newInput(onChange: (preview: Preview | Error | undefined) => void): ManyInput {
  const text = element('textarea', {
    id: 'many-text',
    rows: '6',
    spellcheck: 'false',
    placeholder: 'name,categoryId,status\nRex,7,available\n"Mimi, the cat",3,',
    'aria-describedby': 'many-help',
  });
  const file = element('input', {
    type: 'file',
    accept: '.csv,.tsv,.tab,.txt,.json,.ndjson,.jsonl',
    hidden: '',
  });
  let timer: ReturnType<typeof setTimeout> | undefined;

  const show = (bytes: Uint8Array): void => {
    try {
      onChange(bytes.length === 0 ? undefined : readRows(bytes));
    } catch (error) {
      onChange(error instanceof Error ? error : new Error(String(error)));
    }
  };
  const read = async (chosen: File): Promise<void> => {
    clearTimeout(timer);
    if (chosen.size > BYTES_MAX) return onChange(tooLarge());
    const bytes = new Uint8Array(await chosen.arrayBuffer());
    text.value = new TextDecoder().decode(bytes);
    show(bytes);
  };
  text.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => show(new TextEncoder().encode(text.value)), READ_DELAY_MS);
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
      'The first line of a table names its columns: name, category and, if you want, status, separated by commas, semicolons or tabs. JSON is an array, or one object per line. You can also drop a file anywhere on this page.',
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
