import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type WirePet } from '../../harness/client.ts';

/** How long it waits at the end of the list before it reads the last page again. */
const POLL_MS = 20;
const FAILED_READS_MAX = 1_000;

/**
 * Follows `rel="next"` from the start, each page through any of the processes, while others create animals. It
 * reads the last page again until that page grows or has a next one. Any client that must miss nothing does the
 * same. It must see every animal once, in ascending order of ids.
 */
export class Follower {
  readonly #violations: string[] = [];
  /** The id of each animal read so far, by name. */
  readonly #seen = new Map<string, number>();
  readonly #expected: WirePet[] = [];
  readonly #ended: Promise<void>;
  #lastId = 0;
  #isOver = false;

  constructor(pickUrl: () => string, key: string) {
    this.#ended = this.#follow(pickUrl, new Client(key));
  }

  /** How many animals it has read. */
  get count(): number {
    return this.#seen.size;
  }

  /** These animals were acknowledged, so that it must see them. */
  expect(pets: readonly WirePet[]): void {
    this.#expected.push(...pets);
  }

  /** Resolves at the end of the list, and returns the violations. */
  async stop(): Promise<string[]> {
    this.#isOver = true;
    await this.#ended;
    const missed = this.#expected.filter(({ id, name }) => this.#seen.get(name) !== id);
    return [...this.#violations, ...missed.map(({ id, name }) => `${name} (${id}) was missed`)];
  }

  async #follow(pickUrl: () => string, client: Client): Promise<void> {
    let target = '/pets?limit=100';
    let before: WirePet[] = [];
    for (let failures = 0; failures < FAILED_READS_MAX;) {
      const isLastRead = this.#isOver;
      const response = await client.get(pickUrl() + target).catch(() => undefined);
      if (response?.status !== 200) {
        failures += 1;
        await sleep(POLL_MS);
        continue;
      }
      failures = 0;
      const page = JSON.parse(response.body) as WirePet[];
      this.#take(page, before);
      const next = /<[^>]*\/v1([^>]*)>; rel="next"/.exec(response.link)?.[1];
      if (next === undefined && isLastRead) break;
      if (next === undefined) await sleep(POLL_MS);
      before = next === undefined ? page : [];
      target = next ?? target;
    }
    client.close();
  }

  /** `before` is the same page at the previous read. New animals may only be at its end. */
  #take(page: readonly WirePet[], before: readonly WirePet[]): void {
    for (const [index, { id }] of before.entries()) {
      if (page[index]?.id !== id) this.#violations.push(`${id} disappeared from its page`);
    }
    for (const { id, name } of page.slice(before.length)) {
      if (id <= this.#lastId) this.#violations.push(`${id} came after ${this.#lastId}`);
      if (this.#seen.has(name)) this.#violations.push(`${name} was read twice`);
      this.#seen.set(name, id);
      this.#lastId = id;
    }
  }
}
