import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type WirePet } from './client.ts';

/** At the end of the list there is nothing to do but to look again. */
const LOOK_AGAIN_MS = 5;

/**
 * Follows `rel="next"` from the start, asking another process for every page, and stays on the last
 * page until it grows or has a next one: what any client does that wants to miss nothing.
 */
export class Reader {
  readonly violations: string[] = [];
  /** By name: the id it was met with. */
  readonly met = new Map<string, number>();
  readonly #baseUrls: readonly string[];
  readonly #client: Client;
  #lastId = 0;
  pages = 0;

  constructor(baseUrls: readonly string[], key: string) {
    this.#baseUrls = baseUrls;
    this.#client = new Client(key);
  }

  /** Ends at the end of the list, once `isOver` was true before the last page was asked for. */
  async follow(isOver: () => boolean): Promise<void> {
    let target = '/pets?limit=100';
    let before: WirePet[] = [];
    for (;;) {
      const isLastLook = isOver();
      const baseUrl = this.#baseUrls[this.pages % this.#baseUrls.length] ?? '';
      const { status, link, body } = await this.#client.get(baseUrl + target);
      this.pages += 1;
      if (status !== 200) {
        this.violations.push(`${target} was answered with ${status} ${body}`);
        break;
      }
      const page = JSON.parse(body) as WirePet[];
      this.#take(page, before);
      const next = /<[^>]*\/v1([^>]*)>; rel="next"/.exec(link)?.[1];
      if (next === undefined && isLastLook) break;
      if (next === undefined) await sleep(LOOK_AGAIN_MS);
      before = next === undefined ? page : [];
      target = next ?? target;
    }
    this.#client.close();
  }

  /** `before` is what the same page held at the look before: it may only have grown at its end. */
  #take(page: readonly WirePet[], before: readonly WirePet[]): void {
    for (const [index, { id }] of before.entries()) {
      if (page[index]?.id !== id) this.violations.push(`${id} was there and is not any more`);
    }
    for (const { id, name } of page.slice(before.length)) {
      if (id <= this.#lastId) this.violations.push(`${id} came after ${this.#lastId}`);
      if (this.met.has(name)) this.violations.push(`${name} was met twice`);
      this.met.set(name, id);
      this.#lastId = id;
    }
  }
}
