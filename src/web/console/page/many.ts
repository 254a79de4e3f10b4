import { button, byId, element, isUsable, setUsable } from './dom.ts';
import { explain, type Fault } from './fault.ts';
import { columnChooser } from './many-columns.ts';
import {
  addList,
  isTooLong,
  previewList,
  type AddOptions,
  type Choice,
  type List,
  type Outcome,
  type Preview,
  type Unreadable,
} from './many-list.ts';
import { newInput, selectLines } from './many-input.ts';
import { count, previewView } from './many-preview.ts';
import { faultNotice } from './notice.ts';
import type { Session } from './session.ts';

const TOO_LONG =
  'This list is too long for a page: at most 5,000 lines and 1 MiB. Use petstore import instead.';
const CHOOSE =
  'The first line does not say which column is which: choose that of the name and that of the category.';
/** The statuses of a refusal whose message says what is wrong with the list. */
const ABOUT_THE_LIST = [400, 413];

export interface ManyEvents {
  keyNeeded: (fault?: Fault) => void;
  added: () => void;
}

/** The card that adds a list of animals: paste or drop, look at what the service says of it, and add. */
export class ManyCard {
  readonly #session: Session;
  readonly #on: ManyEvents;
  readonly #card = byId('many', HTMLElement);
  readonly #input = newInput((list) => this.#take(list));
  /** What became of the list before. */
  readonly #told = element('div', { role: 'status' });
  readonly #columns = element('div', {});
  readonly #preview = element('div', { class: 'preview' });
  #list: List = '';
  #choice: Choice = {};
  /** The request in progress. */
  #request = new AbortController();

  constructor(session: Session, on: ManyEvents) {
    this.#session = session;
    this.#on = on;
    const title = element('h2', { id: 'many-title', tabindex: '-1' }, 'Add many at once');
    const close = button('Close', () => this.#close(), 'quiet');
    const head = element('div', { class: 'head' }, title, close);
    this.#card.append(head, this.#told, this.#input.view, this.#columns, this.#preview);
  }

  /** Opens the card, with a file if one was dropped. */
  open(file?: File): void {
    this.#card.hidden = false;
    this.#card.scrollIntoView({ block: 'nearest' });
    this.#input.text.focus();
    if (file !== undefined) this.#input.read(file);
  }

  /** Another list: nothing that was said about the one before holds. */
  #take(list: List): void {
    this.#list = list;
    this.#choice = {};
    this.#told.replaceChildren();
    this.#columns.replaceChildren();
    void this.#look();
  }

  /** Asks the service what the list would add. */
  async #look(): Promise<void> {
    this.#request.abort();
    this.#request = new AbortController();
    const { signal } = this.#request;
    if (this.#list === '') return this.#preview.replaceChildren();
    if (isTooLong(this.#list)) return this.#preview.replaceChildren(alert(TOO_LONG));
    try {
      this.#show(await previewList(this.#session, this.#list, this.#choice, signal));
    } catch (error) {
      if (!signal.aborted) this.#fail(error, () => void this.#look());
    }
  }

  #show(preview: Preview | Unreadable): void {
    const { needsEncoding, table } = preview;
    if (table !== undefined && this.#columns.childElementCount === 0) {
      const choose = (columns: number[]): void => this.#choose({ columns });
      this.#columns.append(columnChooser(table, choose));
    }
    const shown =
      'fault' in preview
        ? [table === undefined ? alert(preview.fault) : element('p', { role: 'status' }, CHOOSE)]
        : previewView(preview, {
            add: (options) => void this.#add(options),
            show: (fault) => selectLines(this.#input.text, fault),
          });
    this.#preview.replaceChildren(...this.#encodingNotice(needsEncoding), ...shown);
  }

  #choose(choice: Choice): void {
    this.#choice = { ...this.#choice, ...choice };
    void this.#look();
  }

  #encodingNotice(isNeeded: boolean): HTMLElement[] {
    if (!isNeeded) {
      if (this.#choice.encoding === undefined) return [];
      return [element('p', { class: 'notice' }, 'Read as Windows-1252. Check the names.')];
    }
    const encoding = 'windows-1252';
    const choose = button('Read it as Windows-1252', () => {
      this.#columns.replaceChildren();
      this.#input.show(this.#list, encoding);
      this.#input.text.focus();
      this.#choose({ encoding });
    });
    const words = 'This file is not UTF-8. Excel saves CSV as Windows-1252 on many computers.';
    return [element('div', { class: 'notice' }, element('p', {}, words), choose)];
  }

  async #add(options: AddOptions): Promise<void> {
    const buttons = [...this.#preview.querySelectorAll<HTMLButtonElement>('.actions button')];
    if (!buttons.every(isUsable)) return;
    for (const each of buttons) setUsable(each, false);
    this.#input.text.readOnly = true;
    try {
      this.#finish(await addList(this.#session, this.#list, this.#choice, options));
    } catch (error) {
      this.#fail(error, () => void this.#add(options));
    } finally {
      this.#input.text.readOnly = false;
      for (const each of buttons) setUsable(each, true);
    }
  }

  /** The card keeps the lines that were left out. */
  #finish({ added, addedBefore, faultyLines }: Outcome): void {
    this.#input.show(faultyLines);
    this.#take(faultyLines);
    const total = addedBefore?.animals ?? added;
    const words = [
      added > 0
        ? `${count(added)} ${added === 1 ? 'was' : 'were'} added.`
        : `Nothing was added now: ${count(total)} of this list ${total === 1 ? 'is' : 'are'} in the catalogue.`,
      faultyLines === '' ? '' : ' The lines with a fault are below: correct them, and add them.',
    ];
    this.#told.append(element('div', { class: 'notice done' }, element('p', {}, ...words)));
    this.#input.text.focus();
    this.#on.added();
  }

  #fail(error: unknown, retry: () => void): void {
    const fault = explain(error);
    if (fault.isKeyRefused) return this.#on.keyNeeded(fault);
    const shown = ABOUT_THE_LIST.includes(fault.status)
      ? alert(fault.message)
      : faultNotice(fault, { retry, canCountDown: false });
    this.#preview.replaceChildren(shown);
  }

  #close(): void {
    this.#input.show('');
    this.#take('');
    this.#card.hidden = true;
    // Without animals, the invitation has replaced the button of the form.
    const invitation = document.querySelector<HTMLElement>('.invitation button');
    (invitation ?? byId('add-many', HTMLElement)).focus();
  }
}

function alert(words: string): HTMLElement {
  return element('div', { class: 'notice fault', role: 'alert' }, words);
}
