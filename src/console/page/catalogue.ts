import { PET_STATUSES, type Pet, type PetPage, type PetStatus } from '../../../sdk/src/index.ts';
import { curlCommand } from './curl.ts';
import { offerCurl } from './copy.ts';
import { button, byId, element, isUsable, setUsable } from './dom.ts';
import { explain, type Fault } from './fault.ts';
import { faultNotice } from './notice.ts';
import { petRow } from './pet.ts';
import { BASE_URL, type Session } from './session.ts';

const LIMIT_DEFAULT = 20;

/** The list of animals: one page at a time, with a filter. */
export class Catalogue {
  readonly #session: Session;
  readonly #askForKey: (fault?: Fault) => void;
  readonly #panel = byId('catalogue', HTMLElement);
  readonly #rows = byId('rows', HTMLTableSectionElement);
  readonly #table = byId('table', HTMLTableElement);
  readonly #message = byId('list-message', HTMLElement);
  readonly #place = byId('place', HTMLElement);
  readonly #previous = byId('previous', HTMLButtonElement);
  readonly #next = byId('next', HTMLButtonElement);
  readonly #limit = byId('limit', HTMLSelectElement);
  readonly #filter = byId('filter', HTMLFormElement);
  readonly #curl = offerCurl(byId('list-curl', HTMLElement), () => curlCommand(this.#url()));
  /** The cursors of all pages up to the current one. The first page has none. */
  #cursors: (string | undefined)[] = [undefined];
  #nextCursor: string | undefined;
  #loading = new AbortController();
  #newId: bigint | undefined;

  constructor(session: Session, askForKey: (fault?: Fault) => void) {
    this.#session = session;
    this.#askForKey = askForKey;
    this.#filter.addEventListener('change', () => void this.#turnTo([undefined]));
    this.#filter.addEventListener('submit', (event) => event.preventDefault());
    this.#previous.addEventListener('click', () => {
      if (isUsable(this.#previous)) void this.#turnTo(this.#cursors.slice(0, -1));
    });
    this.#next.addEventListener('click', () => {
      if (isUsable(this.#next)) void this.#turnTo([...this.#cursors, this.#nextCursor]);
    });
  }

  /** Loads the current page again and highlights a newly added animal if it is on the page. */
  async show(newId?: bigint): Promise<void> {
    this.#newId = newId;
    await this.#turnTo(this.#cursors);
  }

  async #turnTo(cursors: (string | undefined)[]): Promise<void> {
    this.#loading.abort();
    const loading = new AbortController();
    this.#loading = loading;
    this.#cursors = cursors;
    this.#setBusy(true);
    const { signal } = loading;
    const list = this.#session.pets.list({
      status: this.#status,
      limit: this.#limitWanted,
      signal,
    });
    try {
      this.#render(await list.page(cursors.at(-1)));
    } catch (error) {
      // A later request has replaced this one.
      if (signal.aborted) return;
      this.#renderFault(explain(error));
    }
    this.#setBusy(false);
  }

  get #status(): PetStatus | undefined {
    const wanted = new FormData(this.#filter).get('status');
    return PET_STATUSES.find((status) => status === wanted);
  }

  get #limitWanted(): number {
    return Number(this.#limit.value);
  }

  #url(): string {
    const query = new URLSearchParams();
    if (this.#limitWanted !== LIMIT_DEFAULT) query.set('limit', this.#limit.value);
    if (this.#status !== undefined) query.set('status', this.#status);
    const cursor = this.#cursors.at(-1);
    if (cursor !== undefined) query.set('cursor', cursor);
    return `${BASE_URL}/pets${query.size > 0 ? `?${query.toString()}` : ''}`;
  }

  #setBusy(isBusy: boolean): void {
    this.#panel.setAttribute('aria-busy', String(isBusy));
    if (!isBusy) return;
    this.#curl.clear();
    this.#place.textContent = 'Loading …';
    // Whether there is a previous or next page is known after the page is loaded.
    setUsable(this.#previous, false);
    setUsable(this.#next, false);
  }

  #render({ pets, nextCursor }: PetPage): void {
    this.#nextCursor = nextCursor;
    this.#rows.replaceChildren(...pets.map((pet: Pet) => petRow(pet, pet.id === this.#newId)));
    this.#table.hidden = pets.length === 0;
    this.#message.replaceChildren(...(pets.length === 0 ? [this.#emptyMessage()] : []));
    const count = `${pets.length} ${pets.length === 1 ? 'animal' : 'animals'}`;
    this.#place.textContent = `Page ${this.#cursors.length} · ${count}`;
    setUsable(this.#previous, this.#cursors.length > 1);
    setUsable(this.#next, nextCursor !== undefined);
    if (this.#panel.getBoundingClientRect().top < 0) this.#panel.scrollIntoView();
  }

  #emptyMessage(): HTMLElement {
    const status = this.#status;
    if (status === undefined) {
      return element(
        'div',
        { class: 'empty' },
        element('p', { class: 'title' }, 'No animals yet'),
        element('p', {}, 'The first one you add appears here.'),
        button('Add an animal', () => byId('name', HTMLInputElement).focus(), 'primary'),
      );
    }
    return element(
      'div',
      { class: 'empty' },
      element('p', { class: 'title' }, `No animal is ${status}`),
      element('p', {}, 'Animals with another status are left out by the filter.'),
      button('Show all', () => {
        const all = byId('all', HTMLInputElement);
        all.checked = true;
        all.focus();
        void this.#turnTo([undefined]);
      }),
    );
  }

  #renderFault(fault: Fault): void {
    this.#place.textContent = 'Not loaded';
    setUsable(this.#previous, this.#cursors.length > 1);
    if (fault.isKeyRefused) {
      this.#askForKey(fault);
      return;
    }
    const mending = {
      retry: () => {
        // The button disappears with its notice, so the focus moves to the title.
        byId('title', HTMLElement).focus();
        void this.#turnTo(this.#cursors);
      },
      changeKey: () => this.#askForKey(),
    };
    // The table still has the rows of the page before.
    this.#table.hidden = true;
    this.#message.replaceChildren(faultNotice(fault, mending));
  }
}
