import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type WirePet } from '../client.ts';

/** How long the reader waits at the end of the list before it reads the last page again. */
const POLL_MS = 5;

/**
 * Follows `rel="next"` from the start, and takes each page from the next process in turn. It reads the last
 * page again until that page grows or has a next one. Any client that must miss nothing does the same.
 */
export class Reader {
  readonly violations: string[] = [];
  /** The id of each animal read so far, by name. */
  readonly seen = new Map<string, number>();
  readonly #baseUrls: readonly string[];
  readonly #client: Client;
  #lastId = 0;
  pages = 0;

  constructor(baseUrls: readonly string[], key: string) {
    this.#baseUrls = baseUrls;
    this.#client = new Client(key);
  }

  /** Resolves at the end of the list, if `isOver` was true before the last page was requested. */
  async follow(isOver: () => boolean): Promise<void> {
    let target = '/pets?limit=100';
    let before: WirePet[] = [];
    for (;;) {
      const isLastRead = isOver();
      const baseUrl = this.#baseUrls[this.pages % this.#baseUrls.length] ?? '';
      const { status, link, body } = await this.#client.get(baseUrl + target);
      this.pages += 1;
      if (status !== 200) {
        this.violations.push(`GET ${target} returned ${status} ${body}`);
        break;
      }
      const page = JSON.parse(body) as WirePet[];
      this.#take(page, before);
      const next = /<[^>]*\/v1([^>]*)>; rel="next"/.exec(link)?.[1];
      if (next === undefined && isLastRead) break;
      if (next === undefined) await sleep(POLL_MS);
      before = next === undefined ? page : [];
      target = next ?? target;
    }
    this.#client.close();
  }

  /** `before` is the same page at the previous read. New animals may only be at its end. */
  #take(page: readonly WirePet[], before: readonly WirePet[]): void {
    for (const [index, { id }] of before.entries()) {
      if (page[index]?.id !== id) this.violations.push(`animal ${id} disappeared from its page`);
    }
    for (const { id, name } of page.slice(before.length)) {
      if (id <= this.#lastId) this.violations.push(`animal ${id} came after ${this.#lastId}`);
      if (this.seen.has(name)) this.violations.push(`${name} was read twice`);
      this.seen.set(name, id);
      this.#lastId = id;
    }
  }
}
