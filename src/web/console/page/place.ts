import { PET_STATUSES, type PetStatus } from '../../../../sdk/src/index.ts';

const NEWEST_FIRST = 'newest';
const PAGE_SIZES = [10, 20, 50, 100];
export const PAGE_SIZE_DEFAULT = 20;
/** The cursor of the newest animals. The cursors of the pages after it lead to older ones. */
const LAST = 'last';
/** Beyond this, the oldest pages cannot be reached with "Previous", only with "First page". */
const TRAIL_LENGTH_MAX = 1_000;

/** One page of the list, and how many animals are before it. That number is unknown for a page from a link. */
export interface Step {
  cursor: string | undefined;
  before: number | undefined;
}

/** What the list shows. The trail has the pages up to the current one. */
export interface Place extends Filter {
  isNewestFirst: boolean;
  trail: Step[];
}

export interface Filter {
  status: PetStatus | undefined;
  limit: number;
  /** What is searched for; empty if nothing is. */
  find: string;
}

/** What the browser keeps with an entry of its history. The address has the rest. */
interface Kept {
  trail?: Step[];
  scrollY?: number;
}

function kept(): Kept {
  return Object(history.state) as Kept;
}

/** The first page of an order. */
export function firstPage({ status, limit, find }: Filter, isNewestFirst: boolean): Place {
  const cursor = isNewestFirst ? LAST : undefined;
  return { status, limit, find, isNewestFirst, trail: [{ cursor, before: 0 }] };
}

/** The place that the URL names. Invalid values are ignored. */
export function placeInAddress(): Place {
  const query = new URLSearchParams(location.search);
  const status = PET_STATUSES.find((each) => each === query.get('status'));
  const limit = PAGE_SIZES.find((each) => String(each) === query.get('limit')) ?? PAGE_SIZE_DEFAULT;
  const cursor = query.get('cursor') ?? undefined;
  const isNewestFirst = query.get('order') === NEWEST_FIRST || cursor === LAST;
  const find = query.get('find') ?? '';
  const first = firstPage({ status, limit, find }, isNewestFirst);
  if (cursor === undefined || cursor === LAST) return first;
  const { trail = [] } = kept();
  const isOfAddress = trail.at(-1)?.cursor === cursor;
  return { ...first, trail: isOfAddress ? trail : [{ cursor, before: undefined }] };
}

/** The query of the request to the service. */
export function queryOf({ status, limit, trail }: Place): string {
  const query = new URLSearchParams();
  if (status !== undefined) query.set('status', status);
  if (limit !== PAGE_SIZE_DEFAULT) query.set('limit', String(limit));
  const cursor = trail.at(-1)?.cursor;
  if (cursor !== undefined) query.set('cursor', cursor);
  return query.size > 0 ? `?${query.toString()}` : '';
}

/**
 * The query of the page's own URL. It has the order too, because the page cannot read it from a cursor, and what is
 * searched for.
 */
function addressOf(place: Place): string {
  const isOrderNeeded = place.isNewestFirst && place.trail.at(-1)?.cursor !== LAST;
  const query = new URLSearchParams(queryOf(place));
  if (isOrderNeeded) query.set('order', NEWEST_FIRST);
  if (place.find !== '') query.set('find', place.find);
  return query.size > 0 ? `?${query.toString()}` : '';
}

/** The id of the animal that the URL links to, as it is written there. */
export function linkedId(): string | undefined {
  return new URLSearchParams(location.search).get('id') ?? undefined;
}

export function linkTo(id: bigint): string {
  return `${location.origin}${location.pathname}?id=${id}`;
}

/** While an animal is open, the URL has its id. The history gets no new entry. */
export function showLinkedId(id: bigint | undefined): void {
  const query = new URLSearchParams(location.search);
  if (id === undefined) query.delete('id');
  else query.set('id', String(id));
  const search = query.size > 0 ? `?${query.toString()}` : '';
  history.replaceState(history.state, '', location.pathname + search);
}

/** Adds the place to the history. */
export function enterPlace(place: Place): void {
  const trail = place.trail.slice(-TRAIL_LENGTH_MAX);
  history.pushState({ trail, scrollY }, '', location.pathname + addressOf(place));
}

/** Calls back when the user goes back or forward to another place. */
export function followHistory(current: () => Place, onChange: () => void): void {
  // The rows are loaded again, and only then is the page long enough to scroll.
  history.scrollRestoration = 'manual';
  keep({});
  document.addEventListener('scrollend', () => keep({ scrollY }));
  addEventListener('popstate', () => {
    // A link to a part of this page has added an entry. The place is the same.
    if (history.state === null) keep({ trail: current().trail, scrollY });
    else onChange();
  });
}

function keep(part: Kept): void {
  history.replaceState({ ...kept(), ...part }, '');
}

export function restoreScroll(): void {
  scrollTo(0, kept().scrollY ?? 0);
}
