import { PET_STATUSES, type Pet, type PetPage, type PetStatus } from '../../../../sdk/src/index.ts';
import { writeNewPet } from '../../../../sdk/src/json.ts';
import { Changes } from './changes.ts';
import { curlCommand } from './curl.ts';
import { offerCurl } from './clipboard.ts';
import { byId, isUsable, setUsable } from './dom.ts';
import { emptyMessage, nothingFound } from './empty.ts';
import { explain, type Fault } from './fault.ts';
import { grouped } from './fields.ts';
import { faultNotice } from './notice.ts';
import { LABELS, petRow, rowId, suggestCategories, type RowEvents } from './pet.ts';
import {
  enterPlace,
  firstPage,
  followHistory,
  linkedId,
  placeInAddress,
  queryOf,
  restoreScroll,
  type Filter,
  type Place,
  type Step,
} from './place.ts';
import { offerPrint, type Printed } from './print.ts';
import { FOUND_MAX, Search } from './search.ts';
import { Selection } from './selection.ts';
import { BASE_URL, type Session } from './session.ts';

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
  /** The page retries by itself. It does so once. */
  isAutomatic?: boolean;
  /** A reload in the background: nothing shows that it runs or that it failed. */
  isQuiet?: boolean;
}

/** The list of animals: one page at a time, with a filter. The URL says which page. */
export class Catalogue {
  readonly #session: Session;
  readonly #on: CatalogueEvents;
  readonly #panel = byId('catalogue', HTMLElement);
  readonly #rows = byId('rows', HTMLTableSectionElement);
  readonly #table = byId('table', HTMLTableElement);
  readonly #message = byId('list-message', HTMLElement);
  readonly #count = byId('place', HTMLElement);
  readonly #previous = byId('previous', HTMLButtonElement);
  readonly #next = byId('next', HTMLButtonElement);
  readonly #limit = byId('limit', HTMLSelectElement);
  readonly #filter = byId('filter', HTMLFormElement);
  readonly #find = byId('find', HTMLFormElement);
  readonly #text = byId('find-text', HTMLInputElement);
  readonly #curl = offerCurl(byId('list-curl', HTMLElement), () =>
    curlCommand(`${BASE_URL}/pets${queryOf(this.#place)}`),
  );
  #place = placeInAddress();
  #nextStep: Step = { cursor: undefined, before: undefined };
  #loading = new AbortController();
  /** The animals of the rows, by id. */
  readonly #shown = new Map<string, Pet>();
  readonly #selection = new Selection((ids, status, bar) => this.#markAll(ids, status, bar));
  readonly changes: Changes;
  /** One status after the other is stored, so that a second choice follows what the first has stored. */
  #marking = Promise.resolve();
  #newId: bigint | undefined;

  constructor(session: Session, on: CatalogueEvents) {
    this.#session = session;
    this.#on = on;
    this.changes = new Changes(session, {
      keyNeeded: on.keyNeeded,
      shown: (pet) => this.#update(pet),
      gone: (id) => this.#drop(id),
    });
    byId('refresh', HTMLButtonElement).addEventListener('click', () => void this.refresh());
    addEventListener('focus', () => this.#refreshQuietly());
    this.#filter.addEventListener('change', () => this.#goTo(this.#start(this.#wanted)));
    byId('newest', HTMLButtonElement).addEventListener('click', () => {
      this.#goTo(firstPage(this.#wanted, !this.#place.isNewestFirst));
    });
    this.#filter.addEventListener('submit', (event) => event.preventDefault());
    this.#find.addEventListener('submit', (event) => {
      event.preventDefault();
      if (this.#text.value.trim() !== this.#place.find) this.#goTo(this.#start(this.#wanted));
      else void this.#load();
    });
    // The cross in the field, or an emptied field, leads back to the list.
    this.#text.addEventListener('input', () => {
      const isEnd = this.#text.value === '' && this.#place.find !== '';
      if (isEnd) this.#goTo(this.#start(this.#wanted));
    });
    byId('find-stop', HTMLButtonElement).addEventListener('click', () => this.#loading.abort());
    offerPrint((signal) => this.#printed(signal), on);
    this.#previous.addEventListener('click', () => {
      if (isUsable(this.#previous)) this.#goTo(this.#placeBefore, { isTurn: true });
    });
    this.#next.addEventListener('click', () => {
      if (!isUsable(this.#next)) return;
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
    this.#showControls(this.#place);
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
    const isBusy = this.#panel.getAttribute('aria-busy') === 'true';
    const isWanted = this.#session.access.mayRead && this.#place.find === '';
    if (!isWanted || isBusy || document.querySelector('dialog') !== null) return;
    // What is being stored is stored first.
    void this.#marking.then(() => this.#load({ isQuiet: true }));
  }

  /** Begins with the newest animals, of which one was just added. A filter that leaves it out ends. */
  showAdded({ id, status }: Pet): void {
    this.#newId = id;
    const { limit, status: filter } = this.#place;
    const kept = filter === status ? filter : undefined;
    this.#goTo(firstPage({ limit, status: kept, find: '' }, true));
  }

  /** The filter. */
  get status(): Place['status'] {
    return this.#place.status;
  }

  get #wanted(): Filter {
    const wanted = new FormData(this.#filter).get('status');
    const status = PET_STATUSES.find((each) => each === wanted);
    return { status, limit: Number(this.#limit.value), find: this.#text.value.trim() };
  }

  /** Another filter starts at the first page of the same order. */
  #start(filter: Filter): Place {
    return firstPage(filter, this.#place.isNewestFirst);
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
    this.#limit.value = String(place.limit);
    if (this.#text.value.trim() !== place.find) this.#text.value = place.find;
    this.#panel.classList.toggle('finding', place.find !== '');
    byId('newest', HTMLElement).setAttribute('aria-pressed', String(place.isNewestFirst));
    for (const radio of this.#filter.querySelectorAll('input')) {
      radio.checked = radio.value === (place.status ?? '');
    }
  }

  async #load(loading: Loading = {}): Promise<void> {
    const { isReturn, isTurn, isQuiet = false } = loading;
    this.#loading.abort();
    const { signal } = (this.#loading = new AbortController());
    const { status, limit, isNewestFirst, trail } = this.#place;
    if (!isQuiet) this.#setBusy(true);
    if (this.#place.find !== '') {
      const search = new Search(this.#session, { text: this.#place.find, status });
      this.#replaceRows([]);
      this.#message.replaceChildren();
      return this.#search(search, signal);
    }
    try {
      const list = this.#session.pets.list({ status, limit, signal });
      const ordered = isNewestFirst ? list.toReversed() : list;
      this.#render(await ordered.page(trail.at(-1)?.cursor), isQuiet);
      if (isReturn) restoreScroll();
      if (isTurn && this.#table.getBoundingClientRect().top < 0) this.#table.scrollIntoView();
    } catch (error) {
      // A later request has replaced this one, or will follow.
      if (signal.aborted || isQuiet) return;
      this.#renderFault(explain(error), loading);
    }
    this.#setBusy(false);
  }

  /** Shows what is found at once. After a failure it goes on from there. */
  async #search(search: Search, signal: AbortSignal): Promise<void> {
    // What changes several times per second is not read aloud. The end of it is.
    this.#count.ariaLive = 'off';
    try {
      await search.run(signal, {
        found: (pets) => this.#addRows(pets),
        looked: () => (this.#count.textContent = `${searchWords(search)} …`),
        waiting: (seconds) => {
          this.#count.textContent = `${searchWords(search)}. Waiting ${seconds} s, so that half of the requests of this key are left for other work …`;
        },
      });
      if (search.found === 0) this.#message.replaceChildren(this.#nothingFound());
    } catch (error) {
      // A later load has replaced this search, or the person has stopped it.
      if (this.#loading.signal !== signal) return;
      if (!signal.aborted) this.#renderSearchFault(explain(error), search);
    }
    this.#count.ariaLive = null;
    this.#count.textContent = foundWords(search, signal.aborted);
    if (document.activeElement?.id === 'find-stop') this.#text.focus();
    this.#setBusy(false);
  }

  #renderSearchFault(fault: Fault, search: Search): void {
    if (fault.isKeyRefused) return this.#on.keyNeeded(fault);
    const retry = (): void => {
      this.#message.replaceChildren();
      this.#text.focus();
      const { signal } = (this.#loading = new AbortController());
      this.#setBusy(true);
      void this.#search(search, signal);
    };
    this.#message.replaceChildren(faultNotice(fault, { retry, canCountDown: false }));
  }

  #nothingFound(): HTMLElement {
    const { find, status } = this.#place;
    return nothingFound(find, status, () => {
      this.#text.focus();
      this.#goTo(firstPage({ ...this.#place, find: '' }, this.#place.isNewestFirst));
    });
  }

  #addRows(pets: readonly Pet[]): void {
    this.#rows.append(...pets.map((pet) => this.#newRow(pet)));
    this.#table.hidden = false;
    this.#selection.follow();
  }

  /** What "Print" prints: what was found, or else the whole filter in the order of the list. */
  #printed(signal: AbortSignal): Printed {
    const { status, find, isNewestFirst } = this.#place;
    const title = status === undefined ? 'Catalogue' : `Catalogue · ${LABELS[status]}`;
    if (find !== '') return { title: `${title} · “${find}”`, pets: this.#shown.values() };
    const list = this.#session.pets.list({ status, limit: 100, signal });
    return { title, pets: isNewestFirst ? list.toReversed() : list };
  }

  #setBusy(isBusy: boolean): void {
    this.#panel.setAttribute('aria-busy', String(isBusy));
    if (!isBusy) return;
    this.#curl.clear();
    this.#count.textContent = 'Loading …';
    // Whether there is a previous or next page is known after the page is loaded.
    setUsable(this.#previous, false);
    setUsable(this.#next, false);
  }

  #render({ pets, nextCursor }: PetPage, isQuiet: boolean): void {
    const before = this.#place.trail.at(-1)?.before;
    const after = before === undefined ? undefined : before + pets.length;
    this.#nextStep = { cursor: nextCursor, before: after };
    if (isQuiet) this.#updateRows(pets);
    else this.#replaceRows(pets);
    const isEmpty = this.#showPrevious() && pets.length === 0;
    this.#message.replaceChildren(
      ...(isEmpty
        ? [
            emptyMessage(this.#place.status, {
              addMany: this.#on.addMany,
              showAll: () => this.#showAll(),
            }),
          ]
        : []),
    );
    const words = this.#place.isNewestFirst ? newestWords : countWords;
    this.#count.textContent = words(pets.length, before, nextCursor !== undefined);
    setUsable(this.#next, nextCursor !== undefined);
  }

  /** The rows of what has not changed stay as they are: somebody may be choosing a status in one. */
  #updateRows(pets: Pet[]): void {
    const isSameList = pets.map(({ id }) => id).join() === [...this.#shown.keys()].join();
    if (!isSameList) return this.#replaceRows(pets);
    for (const pet of pets) {
      const shown = this.#shown.get(String(pet.id));
      if (shown !== undefined && writeNewPet(shown) !== writeNewPet(pet)) this.#update(pet);
    }
  }

  /** Replaces the rows. The keyboard focus stays on the row of the same animal. */
  #replaceRows(pets: Pet[]): void {
    const focused = this.#rows.contains(document.activeElement) ? document.activeElement : null;
    this.#shown.clear();
    this.#rows.replaceChildren(...pets.map((pet) => this.#newRow(pet)));
    this.#selection.follow();
    suggestCategories(pets);
    this.#table.hidden = pets.length === 0;
    if (focused !== null) focusAgain(focused, this.#rows);
  }

  #newRow(pet: Pet): HTMLTableRowElement {
    this.#shown.set(String(pet.id), pet);
    const events: RowEvents = { open: this.#on.open };
    if (this.#session.access.mayChange) {
      const isSelected = this.#selection.has(pet.id);
      events.change = {
        mark: (seen, status) => {
          this.#marking = this.#mark(seen, status, this.#marking);
        },
        isSelected,
      };
    }
    return petRow(pet, pet.id === this.#newId, events);
  }

  /** Shows the animal as it is now, if it is in the list. It stays there, also if the filter would leave it out. */
  #update(pet: Pet): void {
    const row = document.getElementById(rowId(pet.id));
    if (row === null) return;
    const focused = row.contains(document.activeElement) ? document.activeElement : null;
    const shown = this.#newRow(pet);
    row.replaceWith(shown);
    if (focused !== null) focusAgain(focused, this.#rows);
    if (linkedId() === String(pet.id)) focusAfterDialog(shown.querySelector('button'));
  }

  /** The focus moves to the next animal. */
  #drop(id: bigint): void {
    const row = document.getElementById(rowId(id));
    if (row === null) return;
    const next = (row.nextElementSibling ?? row.previousElementSibling)?.querySelector('button');
    row.remove();
    this.#shown.delete(String(id));
    this.#selection.follow();
    focusAfterDialog(next);
  }

  async #mark(pet: Pet, status: PetStatus, before: Promise<void>): Promise<void> {
    await before;
    // A reload in the background may have begun before the change, and would show the status of then.
    if (this.#panel.getAttribute('aria-busy') !== 'true') this.#loading.abort();
    const seen = this.#shown.get(String(pet.id));
    if (seen === undefined) return;
    try {
      await this.changes.change(seen, { status });
    } catch (error) {
      this.#update(seen);
      this.changes.showFault(error, seen, () => void this.#mark(seen, status, this.#marking));
    }
  }

  #markAll(ids: ReadonlySet<string>, status: PetStatus, bar: Selection): Promise<Pet[]> {
    const pets = [...this.#shown].filter(([id]) => ids.has(id)).map(([, pet]) => pet);
    const count = grouped(pets.length);
    return this.changes.mark(pets, status, (done) => {
      bar.say(`${grouped(done)} of ${count} marked …`);
    });
  }

  /** Returns whether this is the first page. */
  #showPrevious(): boolean {
    const { trail } = this.#place;
    const isFirst = trail.at(-1)?.before === 0;
    this.#previous.textContent = trail.length === 1 && !isFirst ? 'First page' : 'Previous';
    setUsable(this.#previous, !isFirst);
    return isFirst;
  }

  #showAll(): void {
    byId('all', HTMLInputElement).focus();
    this.#goTo(this.#start({ ...this.#place, status: undefined }));
  }

  /** Keeps the rows of the earlier page, so that the user loses nothing. */
  #renderFault(fault: Fault, loading: Loading): void {
    this.#showPrevious();
    this.#count.textContent = this.#table.hidden ? 'Not loaded' : 'Still showing the earlier rows';
    if (fault.isKeyRefused) return this.#on.keyNeeded(fault);
    const notice = faultNotice(fault, {
      canCountDown: loading.isAutomatic !== true,
      retry: (isAutomatic) => {
        // The button disappears with its notice, so the focus moves to the title.
        if (this.#message.contains(document.activeElement)) byId('title', HTMLElement).focus();
        void this.#load({ ...loading, isAutomatic });
      },
    });
    this.#message.replaceChildren(notice);
  }
}

/** Focuses the same control of the same animal in the new rows, or else the title. */
function focusAgain(control: Element, rows: HTMLElement): void {
  const row = CSS.escape(control.closest('tr')?.id ?? '');
  const same = rows.querySelector<HTMLElement>(`#${row} ${control.localName}`);
  (same ?? byId('title', HTMLElement)).focus({ preventScroll: true });
}

/** An open dialog gives the focus back to what had it before, which may be gone by then. */
function focusAfterDialog(target: HTMLElement | null | undefined): void {
  const focus = (): void => (target ?? byId('title', HTMLElement)).focus();
  const dialog = document.querySelector('dialog');
  if (dialog === null) focus();
  else dialog.addEventListener('close', focus);
}

function searchWords({ found, looked }: Search): string {
  return `${grouped(found)} found, ${grouped(looked)} looked at`;
}

/** At the end the total is known. */
function foundWords(search: Search, wasStopped: boolean): string {
  if (search.isFull) {
    return `The first ${FOUND_MAX} are shown, ${grouped(search.looked)} looked at. Write more of the name.`;
  }
  if (search.isComplete) return `${grouped(search.found)} of ${grouped(search.looked)}`;
  return `${wasStopped ? 'Stopped' : 'Not complete'}: ${searchWords(search)}`;
}

/** The position in the whole list, as far as it is known. */
function countWords(count: number, before: number | undefined, hasMore: boolean): string {
  if (count === 0) return before === 0 ? 'No animals' : 'No more animals';
  const animals = rangeWords(count, before);
  if (hasMore) return `${animals}, more follow`;
  return before === undefined ? `${animals}, the last` : `${animals} of ${grouped(before + count)}`;
}

/** Without a total: animals may have been added since the newest page was loaded. */
function newestWords(count: number, before: number | undefined, hasMore: boolean): string {
  if (count === 0) return before === 0 ? 'No animals' : 'No more animals';
  const animals = rangeWords(count, before);
  if (hasMore) return `${animals}, newest first, more follow`;
  if (before !== 0) return `${animals}, newest first, the last`;
  return count === 1 ? 'The only animal' : `All ${count} animals, newest first`;
}

function rangeWords(count: number, before: number | undefined): string {
  if (before === undefined) return count === 1 ? '1 animal' : `${count} animals`;
  const first = grouped(before + 1);
  return count === 1 ? `Animal ${first}` : `Animals ${first}–${grouped(before + count)}`;
}
