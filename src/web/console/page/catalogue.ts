import { PET_STATUSES, type Pet, type PetPage } from '../../../../sdk/src/index.ts';
import { Changes } from './changes.ts';
import { offerCurl } from './clipboard.ts';
import { curlCommand } from './curl.ts';
import { button, byId, element, find, isUsable, setUsable } from './dom.ts';
import { explain, type Fault } from './fault.ts';
import { counted, grouped } from './fields.ts';
import { faultNotice } from './notice.ts';
import { LABELS, petName, rowId } from './pet.ts';
import {
  enterPlace,
  firstPage,
  followHistory,
  placeInAddress,
  queryOf,
  restoreScroll,
  type Filter,
  type Place,
  type Step,
} from './place.ts';
import { Rows } from './rows.ts';
import { ROWS_MAX, Search } from './search.ts';
import { BASE_URL, type Session } from './session.ts';
import { offerDownload, offerPrint, type Printed } from './whole-list.ts';

export interface CatalogueEvents {
  keyNeeded: (fault?: Fault) => void;
  open: (pet: Pet) => void;
  addMany: () => void;
}

interface Loading {
  /** Scroll to where this place was left. */
  isReturn?: boolean;
  /** Scroll to the first row: the buttons are below the last one. */
  isTurn?: boolean;
  /** A reload in the background: nothing shows that it runs or that it failed. */
  isQuiet?: boolean;
}

const panel = byId('catalogue', HTMLElement);
const title = byId('title', HTMLElement);
const filter = byId('filter', HTMLFormElement);
const newest = byId('newest', HTMLButtonElement);
const finder = byId('find', HTMLFormElement);
const text = byId('find-text', HTMLInputElement);
const findButton = find(finder, 'button', HTMLButtonElement);
const message = byId('list-message', HTMLElement);
const table = byId('table', HTMLElement);
const previous = byId('previous', HTMLButtonElement);
const next = byId('next', HTMLButtonElement);
const limitChoice = byId('limit', HTMLSelectElement);
const count = byId('place', HTMLElement);
const print = byId('print-list', HTMLButtonElement);

/** The list of animals: one page at a time, with a filter, or what a search has found. The URL says which. */
export class Catalogue {
  readonly #session: Session;
  readonly #on: CatalogueEvents;
  readonly rows: Rows;
  readonly changes: Changes;
  readonly #curl = offerCurl(byId('list-curl', HTMLElement), () =>
    curlCommand(`${BASE_URL}/pets${queryOf(this.#place)}`),
  );
  #place = placeInAddress();
  #nextStep: Step = { cursor: undefined, before: undefined };
  #loading = new AbortController();
  #search: Search | undefined;

  constructor(session: Session, on: CatalogueEvents) {
    this.#session = session;
    this.#on = on;
    this.changes = new Changes(session, {
      keyNeeded: on.keyNeeded,
      shown: (pet) => {
        // A reload in the background may have begun before the change, and would show the animal of then.
        if (!this.#isBusy) this.#loading.abort();
        this.rows.update(pet);
      },
      gone: (id) => this.#drop(id),
      focus: (id) => this.rows.focus(rowId(id)),
    });
    this.rows = new Rows(session, {
      open: on.open,
      mark: (pets, status, progress) => this.changes.mark(pets, status, progress),
    });
    offerPrint((signal) => this.#printed(signal), on.keyNeeded);
    offerDownload(session, () => this.#place.status, on.keyNeeded);
    this.#listen();
    this.#showControls(this.#place);
  }

  #listen(): void {
    byId('refresh', HTMLButtonElement).addEventListener('click', () => void this.refresh());
    addEventListener('focus', () => this.#refreshQuietly());
    for (const target of [filter, limitChoice]) {
      target.addEventListener('change', () => this.#goTo(this.#start(this.#wanted)));
    }
    newest.addEventListener('click', () => {
      this.#goTo(firstPage(this.#wanted, !this.#place.isNewestFirst));
    });
    finder.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#find();
    });
    // The cross in the field, or an emptied field, leads back to the list.
    text.addEventListener('input', () => {
      this.#showFindButton();
      if (text.value === '' && this.#place.find !== '') this.#goTo(this.#start(this.#wanted));
    });
    previous.addEventListener('click', () => {
      if (isUsable(previous)) this.#goTo(this.#placeBefore, { isTurn: true });
    });
    next.addEventListener('click', () => {
      if (!isUsable(next)) return;
      const trail = [...this.#place.trail, this.#nextStep];
      this.#goTo({ ...this.#place, trail }, { isTurn: true });
    });
    followHistory(
      () => this.#place,
      () => {
        this.#showControls(placeInAddress());
        if (this.#session.isOpen) void this.#load({ isReturn: true });
      },
    );
  }

  /** Loads the page that the address names. */
  async open(): Promise<void> {
    await this.#load({ isReturn: true });
  }

  /** Loads the current page again. */
  async refresh(): Promise<void> {
    await this.#load();
  }

  /** What was changed elsewhere meanwhile is shown when the window is used again. */
  #refreshQuietly(): void {
    const isWanted = this.#session.access.mayRead && this.#search === undefined && !this.#isBusy;
    if (!isWanted || document.querySelector('dialog') !== null) return;
    // What is being stored is stored first.
    void this.rows.marking.then(() => this.#load({ isQuiet: true }));
  }

  /** Begins with the newest animals, which were just added. A filter that leaves this one out ends. */
  showAdded(pet?: Pet): void {
    this.rows.newId = pet?.id;
    const { limit, status } = this.#place;
    const kept = pet?.status === status ? status : undefined;
    this.#goTo(firstPage({ limit, status: kept, find: '' }, true));
  }

  get #isBusy(): boolean {
    return panel.ariaBusy === 'true';
  }

  get #wanted(): Filter {
    const wanted = new FormData(filter).get('status');
    const status = PET_STATUSES.find((each) => each === wanted);
    return { status, limit: Number(limitChoice.value), find: text.value.trim() };
  }

  /** Another filter starts at the first page of the same order. */
  #start(wanted: Filter): Place {
    return firstPage(wanted, this.#place.isNewestFirst);
  }

  /** The previous page, or the first one if the pages in between are unknown. */
  get #placeBefore(): Place {
    const trail = this.#place.trail.slice(0, -1);
    return trail.length > 0 ? { ...this.#place, trail } : this.#start(this.#place);
  }

  #goTo(place: Place, loading?: Loading): void {
    enterPlace(place);
    this.#showControls(place);
    void this.#load(loading);
  }

  #showControls(place: Place): void {
    this.#place = place;
    limitChoice.value = String(place.limit);
    if (text.value.trim() !== place.find) text.value = place.find;
    panel.classList.toggle('finding', place.find !== '');
    newest.setAttribute('aria-pressed', String(place.isNewestFirst));
    for (const radio of filter.querySelectorAll('input')) {
      radio.checked = radio.value === (place.status ?? '');
    }
  }

  async #load(loading: Loading = {}): Promise<void> {
    const { isReturn, isTurn, isQuiet = false } = loading;
    this.#loading.abort();
    const { status, limit, find: wanted, isNewestFirst, trail } = this.#place;
    if (!isQuiet) this.rows.selection.stop();
    if (wanted !== '') {
      this.#search = new Search(this.#session, { text: wanted, status });
      this.rows.show([]);
      return this.#runSearch(this.#search);
    }
    this.#search = undefined;
    const { signal } = (this.#loading = new AbortController());
    if (!isQuiet) this.#setBusy();
    try {
      const list = this.#session.pets.list({ status, limit, signal });
      const ordered = isNewestFirst ? list.toReversed() : list;
      this.#render(await ordered.page(trail.at(-1)?.cursor), isQuiet);
      if (isReturn) restoreScroll();
      if (isTurn && table.getBoundingClientRect().top < 0) table.scrollIntoView();
    } catch (error) {
      // A later request has replaced this one, or will follow.
      if (signal.aborted || isQuiet) return;
      count.textContent = table.hidden ? 'Not loaded' : 'Still showing the earlier rows';
      this.#showFault(error, () => void this.#load(loading));
    }
    this.#endBusy();
  }

  /** Keeps the rows of the earlier page, so that the user loses nothing. */
  #showFault(error: unknown, retry: () => void): void {
    const fault = explain(error);
    if (fault.isKeyRefused) return this.#on.keyNeeded(fault);
    const notice = faultNotice(fault, () => {
      // The button disappears with its notice.
      title.focus({ preventScroll: true });
      retry();
    });
    message.replaceChildren(notice);
  }

  /** Finds, or stops the search that runs, or goes on with one that was stopped. */
  #find(): void {
    const search = this.#search;
    if (text.value.trim() !== this.#place.find) this.#goTo(this.#start(this.#wanted));
    else if (search === undefined || search.isComplete) void this.#load();
    else if (!this.#isBusy) void this.#runSearch(search);
    // Enter in the field is no wish to stop.
    else if (document.activeElement !== text) this.#loading.abort();
  }

  #showFindButton(): void {
    const isSame = text.value.trim() === this.#place.find;
    const label = this.#isBusy ? 'Stop' : 'Go on';
    const isEnded = this.#search === undefined || this.#search.isComplete;
    findButton.textContent = isEnded || !isSame ? 'Find' : label;
  }

  /** Shows what is found at once. After a failure or a stop it goes on from there. */
  async #runSearch(search: Search): Promise<void> {
    const { signal } = (this.#loading = new AbortController());
    this.#setBusy();
    message.replaceChildren();
    // What changes several times per second is not read aloud. The end of it is.
    count.ariaLive = 'off';
    const show = (more: string): void =>
      void (count.textContent = `${foundWords(search)}${more} …`);
    try {
      await search.run(signal, {
        found: (pets) => this.rows.add(pets),
        looked: () => show(''),
        waiting: (seconds) =>
          show(
            `. Waiting ${seconds} s, so that half of the requests of this key are left for other work`,
          ),
      });
    } catch (error) {
      // A later load has replaced this search, or the person has stopped it.
      if (this.#loading.signal !== signal) return;
      if (!signal.aborted) this.#showFault(error, () => void this.#runSearch(search));
    }
    count.ariaLive = null;
    this.#endBusy();
    this.#showCount();
  }

  /** What "Print" prints: what was found, or else the whole filter in the order of the list. */
  #printed(signal: AbortSignal): Printed {
    const { status, find: wanted, isNewestFirst } = this.#place;
    const words = status === undefined ? 'Catalogue' : `Catalogue · ${LABELS[status]}`;
    if (wanted !== '') {
      const found = { pets: this.rows.pets, words: `${count.textContent}.` };
      return { title: `${words} · “${wanted}”`, ...found };
    }
    const list = this.#session.pets.list({ status, limit: 100, signal });
    return { title: words, pets: isNewestFirst ? list.toReversed() : list };
  }

  #setBusy(): void {
    panel.ariaBusy = 'true';
    this.#curl.clear();
    count.textContent = 'Loading …';
    // Whether there is a previous or next page is known after the page is loaded, and what is found at the end.
    for (const each of [previous, next]) setUsable(each, false);
    setUsable(print, this.#search === undefined);
    this.#showFindButton();
  }

  #endBusy(): void {
    panel.ariaBusy = 'false';
    const { trail } = this.#place;
    const isFirst = trail.at(-1)?.before === 0;
    previous.textContent = trail.length === 1 && !isFirst ? 'First page' : 'Previous';
    setUsable(previous, !isFirst);
    this.#showFindButton();
  }

  #render({ pets, nextCursor }: PetPage, isQuiet: boolean): void {
    const before = this.#place.trail.at(-1)?.before;
    const after = before === undefined ? undefined : before + pets.length;
    this.#nextStep = { cursor: nextCursor, before: after };
    this.rows.show(pets, { isQuiet });
    setUsable(next, nextCursor !== undefined);
    message.replaceChildren();
    this.#showCount();
  }

  #showCount(): void {
    const { length } = this.rows.pets;
    const search = this.#search;
    setUsable(print, length > 0 && (search?.isComplete ?? true));
    if (search !== undefined) {
      count.textContent = `${search.isComplete ? '' : 'Not complete: '}${foundWords(search)}`;
      if (search.isComplete && length === 0) this.#showEmpty();
      return;
    }
    count.textContent = placeWords(length, this.#place, this.#nextStep.cursor !== undefined);
    if (length === 0 && this.#place.trail.at(-1)?.before === 0) this.#showEmpty();
  }

  /** What stands in place of rows: how to begin, or that nothing is so. */
  #showEmpty(): void {
    const { status, find: wanted } = this.#place;
    if (status === undefined && wanted === '') {
      message.replaceChildren(byId('invitation', HTMLTemplateElement).content.cloneNode(true));
      const paste = find(message, 'button', HTMLButtonElement);
      return paste.addEventListener('click', this.#on.addMany);
    }
    const all = wanted === '' ? { status: undefined } : { find: '' };
    const target = wanted === '' ? byId('all', HTMLInputElement) : text;
    const searched =
      status === undefined
        ? 'Any part of a name is enough.'
        : `Only ${status} animals were searched.`;
    const showAll = button(wanted === '' ? 'Show all' : 'Show the list', () => {
      target.focus();
      this.#goTo(this.#start({ ...this.#place, ...all }));
    });
    const words =
      wanted === '' ? [`No animal is ${status}`] : ['Nothing found for “', petName(wanted), '”'];
    message.replaceChildren(
      element(
        'div',
        { class: 'empty' },
        element('p', { class: 'title' }, ...words),
        element('p', {}, wanted === '' ? `Only ${status} animals are shown.` : searched),
        showAll,
      ),
    );
  }

  /** The animal is gone: what is said of the list stays true. */
  #drop(id: bigint): void {
    if (!this.rows.drop(id)) return;
    if (this.#search !== undefined) {
      this.#search.found -= 1;
      this.#search.looked -= 1;
    } else if (this.#nextStep.before !== undefined) {
      this.#nextStep.before -= 1;
    }
    if (this.rows.pets.length === 0 && this.#search === undefined) void this.#load();
    else if (!this.#isBusy) this.#showCount();
    this.rows.focus(rowId(id));
  }
}

/** How many were found of how many. */
function foundWords({ found, looked, isComplete }: Search): string {
  const first = found > ROWS_MAX ? `, the first ${ROWS_MAX} are shown` : '';
  if (isComplete) return `${grouped(found)} of ${counted(looked)}${first}`;
  return `${grouped(found)} found, ${grouped(looked)} looked at${first}`;
}

/** The position in the whole list, as far as it is known. */
function placeWords(length: number, { trail, isNewestFirst }: Place, hasMore: boolean): string {
  const before = trail.at(-1)?.before;
  if (length === 0) return before === 0 ? 'No animals' : 'No more animals';
  const last = grouped((before ?? 0) + length);
  const range = length === 1 ? `Animal ${last}` : `Animals ${grouped((before ?? 0) + 1)}–${last}`;
  const animals = before === undefined ? counted(length) : range;
  const order = isNewestFirst ? ', newest first' : '';
  if (hasMore) return `${animals}${order}, more follow`;
  // Animals may have been added since the newest page was loaded.
  return isNewestFirst || before === undefined
    ? `${animals}${order}, the last`
    : `${animals} of ${last}`;
}
