import { PET_STATUSES, type PetStatus } from '../../../../sdk/src/index.ts';

const PAGE_SIZES = [10, 20, 50, 100];
export const PAGE_SIZE_DEFAULT = 20;
/** The cursor with which the service reads from the end of the list. */
const LAST = 'last';
const NEWEST_MAX = 100;
/** Beyond this, the oldest pages cannot be reached with "Previous", only with "First page". */
const TRAIL_LENGTH_MAX = 1_000;

/** One page of the list, and how many animals are before it. That number is unknown for a page from a link. */
export interface Step {
  cursor: string | undefined;
  before: number | undefined;
}

/** What the list shows. The trail has the pages up to the current one. */
export interface Place {
  status: PetStatus | undefined;
  limit: number;
  trail: Step[];
}

/** What the browser keeps with an entry of its history. The address has the rest. */
interface Kept {
  trail?: Step[];
  scrollY?: number;
}

function kept(): Kept {
  return Object(history.state) as Kept;
}

export function firstPage(place: Omit<Place, 'trail'>): Place {
  return { ...place, trail: [{ cursor: undefined, before: 0 }] };
}

/** The animals that were added last. */
export function newestPage(place: Omit<Place, 'trail'>): Place {
  return { ...place, trail: [{ cursor: LAST, before: undefined }] };
}

export function isNewest({ trail }: Place): boolean {
  return trail.at(-1)?.cursor === LAST;
}

/** How many animals are requested. The newest are not divided into pages. */
export function limitOf(place: Place): number {
  return isNewest(place) ? NEWEST_MAX : place.limit;
}

/** The place in the address. Values that a link cannot have are ignored. */
export function placeInAddress(): Place {
  const query = new URLSearchParams(location.search);
  const status = PET_STATUSES.find((each) => each === query.get('status'));
  const limit = PAGE_SIZES.find((each) => String(each) === query.get('limit')) ?? PAGE_SIZE_DEFAULT;
  const cursor = query.get('cursor') ?? undefined;
  if (cursor === undefined) return firstPage({ status, limit });
  const { trail = [] } = kept();
  const isOfAddress = trail.at(-1)?.cursor === cursor;
  return { status, limit, trail: isOfAddress ? trail : [{ cursor, before: undefined }] };
}

/** The query of this place, for the address of the page and, with its own limit, for that of the service. */
export function queryOf({ status, trail, ...place }: Place, limit = place.limit): string {
  const query = new URLSearchParams();
  if (status !== undefined) query.set('status', status);
  if (limit !== PAGE_SIZE_DEFAULT) query.set('limit', String(limit));
  const cursor = trail.at(-1)?.cursor;
  if (cursor !== undefined) query.set('cursor', cursor);
  return query.size > 0 ? `?${query.toString()}` : '';
}

/** The id of one animal that the address links to, as it is written there. */
export function linkedId(): string | undefined {
  return new URLSearchParams(location.search).get('id') ?? undefined;
}

export function linkTo(id: bigint): string {
  return `${location.origin}${location.pathname}?id=${id}`;
}

/** While an animal is open, the address has its id. The entry of the history stays the same. */
export function showLinkedId(id: bigint | undefined): void {
  const query = new URLSearchParams(location.search);
  if (id === undefined) query.delete('id');
  else query.set('id', String(id));
  const search = query.size > 0 ? `?${query.toString()}` : '';
  history.replaceState(history.state, '', location.pathname + search);
}

/** Makes the place a new entry of the history. */
export function enterPlace(place: Place): void {
  const trail = place.trail.slice(-TRAIL_LENGTH_MAX);
  history.pushState({ trail, scrollY }, '', location.pathname + queryOf(place));
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
