import { button, byId, element, isUsable, setUsable } from './dom.ts';
import { explain, type Fault } from './fault.ts';
import { counted } from './fields.ts';
import { columnChooser } from './many-columns.ts';
import {
  addList,
  isTooLong,
  previewList,
  type AddOptions,
  type Choice,
  type FaultyLine,
  type List,
  type Outcome,
  type Preview,
  type Unreadable,
} from './many-list.ts';
import { previewView } from './many-preview.ts';
import { faultNotice } from './notice.ts';
import type { Session } from './session.ts';

const TOO_LONG =
  'This list is too long for a page: at most 5,000 lines and 1 MiB. Use petstore import instead.';
const CHOOSE =
  'The first line does not say which column is which: choose that of the name and that of the category.';
const NOT_UTF8 = 'This file is not UTF-8. Excel saves CSV as Windows-1252 on many computers.';
/** The statuses of a refusal whose message says what is wrong with the list. */
const ABOUT_THE_LIST = [400, 413];
/** The text is read when the user has stopped typing for this long. */
const READ_DELAY_MS = 300;

const card = byId('many', HTMLElement);
const text = byId('many-text', HTMLTextAreaElement);
const fileInput = byId('many-file', HTMLInputElement);
/** What became of the list before. */
const told = byId('many-told', HTMLElement);
const columns = byId('many-columns', HTMLElement);
const shown = byId('many-preview', HTMLElement);

export interface ManyEvents {
  keyNeeded: (fault?: Fault) => void;
  added: () => void;
}

/** The card that adds a list of animals: paste or drop, look at what the service says of it, and add. */
export class ManyCard {
  readonly #session: Session;
  readonly #on: ManyEvents;
  /** A file stays as it is until its text is changed. */
  #list: List = '';
  #choice: Choice = {};
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The request in progress. */
  #request = new AbortController();

  constructor(session: Session, on: ManyEvents) {
    this.#session = session;
    this.#on = on;
    byId('many-close', HTMLElement).addEventListener('click', () => this.#close());
    byId('many-choose', HTMLElement).addEventListener('click', () => fileInput.click());
    fileInput.addEventListener('change', () => {
      const [file] = fileInput.files ?? [];
      fileInput.value = '';
      if (file !== undefined) this.#read(file);
    });
    text.addEventListener('input', () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#take(text.value), READ_DELAY_MS);
    });
  }

  /** Opens the card, with a file if one was dropped. */
  open(file?: File): void {
    card.hidden = false;
    card.scrollIntoView({ block: 'nearest' });
    text.focus();
    if (file !== undefined) this.#read(file);
  }

  #close(): void {
    this.#read('');
    card.hidden = true;
    // Without animals, the invitation has replaced the button of the form.
    const invitation = document.querySelector<HTMLElement>('.invitation button');
    (invitation ?? byId('add-many', HTMLElement)).focus();
  }

  /** Shows a list as text, and looks at it. */
  #read(list: List): void {
    this.#take(list);
    void this.#showText(list);
  }

  async #showText(list: List): Promise<void> {
    clearTimeout(this.#timer);
    text.value = typeof list === 'string' ? list : '';
    if (typeof list === 'string' || isTooLong(list)) return;
    const found = await textOf(list, this.#choice.encoding);
    if (list === this.#list) text.value = found;
  }

  /** Another list: nothing that was said about the one before holds. */
  #take(list: List): void {
    this.#list = list;
    this.#choice = {};
    told.replaceChildren();
    columns.replaceChildren();
    void this.#look();
  }

  #choose(choice: Choice): void {
    this.#choice = { ...this.#choice, ...choice };
    void this.#look();
  }

  /** Asks the service what the list would add. */
  async #look(): Promise<void> {
    this.#request.abort();
    this.#request = new AbortController();
    const { signal } = this.#request;
    if (this.#list === '') return shown.replaceChildren();
    if (isTooLong(this.#list)) return shown.replaceChildren(alert(TOO_LONG));
    try {
      this.#show(await previewList(this.#session, this.#list, this.#choice, signal));
    } catch (error) {
      if (!signal.aborted) this.#fail(error, () => void this.#look());
    }
  }

  #show(preview: Preview | Unreadable): void {
    const { needsEncoding, table } = preview;
    // Until its encoding is named, what is read of the file is not what it says.
    if (needsEncoding) return shown.replaceChildren(this.#encodingNotice());
    if (table !== undefined && columns.childElementCount === 0) {
      columns.append(columnChooser(table, (chosen) => this.#choose({ columns: chosen })));
    }
    const isNamed = this.#choice.encoding !== undefined;
    const named = element('p', { class: 'notice' }, 'Read as Windows-1252. Check the names.');
    shown.replaceChildren(...(isNamed ? [named] : []), ...this.#previewOf(preview));
  }

  #previewOf(preview: Preview | Unreadable): HTMLElement[] {
    if ('fault' in preview) {
      return [
        preview.table === undefined
          ? alert(preview.fault)
          : element('p', { role: 'status' }, CHOOSE),
      ];
    }
    return previewView(preview, {
      add: (options) => void this.#add(options),
      show: (fault) => selectLines(fault),
    });
  }

  #encodingNotice(): HTMLElement {
    const encoding = 'windows-1252';
    const choose = button('Read it as Windows-1252', () => {
      text.focus();
      this.#choose({ encoding });
      void this.#showText(this.#list);
    });
    return element('div', { class: 'notice', role: 'status' }, element('p', {}, NOT_UTF8), choose);
  }

  async #add(options: AddOptions): Promise<void> {
    const buttons = [...shown.querySelectorAll<HTMLButtonElement>('.actions button')];
    if (!buttons.every(isUsable)) return;
    for (const each of buttons) setUsable(each, false);
    text.readOnly = true;
    try {
      this.#finish(await addList(this.#session, this.#list, this.#choice, options));
    } catch (error) {
      this.#fail(error, () => void this.#add(options));
    } finally {
      text.readOnly = false;
      for (const each of buttons) setUsable(each, true);
    }
  }

  /** The card keeps the lines that were left out. */
  #finish({ added, addedBefore, faultyLines }: Outcome): void {
    this.#read(faultyLines);
    // Whoever has pressed once does not know that the request was repeated after a lost response.
    const total = addedBefore?.animals ?? added;
    const words =
      added > 0
        ? `${counted(added)} ${added === 1 ? 'was' : 'were'} added.`
        : `${counted(total)} of this list ${total === 1 ? 'is' : 'are'} in the catalogue.`;
    const left = ' The lines with a fault are below: correct them, and add them.';
    const all = faultyLines === '' ? words : words + left;
    const notice = element('p', { class: 'notice done' }, all);
    told.append(notice);
    text.focus();
    this.#on.added();
  }

  #fail(error: unknown, retry: () => void): void {
    const fault = explain(error);
    if (fault.isKeyRefused) return this.#on.keyNeeded(fault);
    shown.replaceChildren(
      ABOUT_THE_LIST.includes(fault.status) ? alert(fault.message) : faultNotice(fault, retry),
    );
  }
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

/** Selects lines of the text where a person sees them. */
function selectLines({ line, lines }: FaultyLine): void {
  const all = text.value.split('\n');
  const start = [...all.slice(0, line - 1), ''].join('\n').length;
  const end = start + all.slice(line - 1, line - 1 + lines).join('\n').length;
  // A browser scrolls to the cursor, and not to a selection, when the text gets the focus.
  text.blur();
  text.setSelectionRange(start, start);
  text.focus();
  text.setSelectionRange(start, end);
}

function alert(words: string): HTMLElement {
  return element('div', { class: 'notice fault', role: 'alert' }, words);
}
