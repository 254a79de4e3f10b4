import { setTimeout as sleep } from 'node:timers/promises';
import { Client, nextTarget, type WirePet } from '../../harness/client.ts';
import type { ChangeRecord, CommandRecord } from './checker.ts';

/** How long it waits at the end of the list before it reads the last page again. */
const POLL_MS = 20;
const FAILED_READS_MAX = 3_000;

/**
 * Follows `rel="next"` from the start, each page through any of the processes, while others create animals. It
 * reads the last page again until that page grows or has a next one. Any client that must miss nothing does the
 * same. It must see every animal that is not removed once, in ascending order of ids.
 */
export class Follower {
  readonly #violations: string[] = [];
  /** The id of each animal read so far, by name. */
  readonly #seen = new Map<string, number>();
  readonly #expected: WirePet[] = [];
  /** The ids that were no longer in their page when it was read again. */
  readonly #disappeared = new Set<number>();
  readonly #removed = new Set<number>();
  readonly #ended: Promise<void>;
  #lastId = 0;
  #isOver = false;
  #isClosed = false;

  constructor(pickOrigin: () => string, key: string) {
    this.#ended = this.#follow(pickOrigin, new Client(key));
  }

  /** How many animals it has read. */
  get count(): number {
    return this.#seen.size;
  }

  /** These animals were acknowledged, so that it must see them, but for those that may have been removed. */
  expect(
    pets: readonly WirePet[],
    changes: readonly ChangeRecord[],
    commands: readonly CommandRecord[],
  ): void {
    this.#expected.push(...pets);
    for (const { from, to } of changes) if (to === undefined) this.#removed.add(from.id);
    for (const { ids, status } of commands) {
      if (status === undefined) for (const id of ids) this.#removed.add(id);
    }
  }

  /** Resolves at the end of the list, and returns the violations. */
  async stop(): Promise<string[]> {
    this.#isOver = true;
    await this.#ended;
    const missed = this.#expected.filter(
      ({ id, name }) => !this.#removed.has(id) && this.#seen.get(name) !== id,
    );
    return [
      ...this.#violations,
      ...[...this.#disappeared.difference(this.#removed)].map((id) => `${id} disappeared`),
      ...missed.map(({ id, name }) => `${name} (${id}) was missed`),
    ];
  }

  /** Follows no longer, wherever it is. */
  close(): void {
    this.#isClosed = true;
  }

  async #follow(pickOrigin: () => string, client: Client): Promise<void> {
    let target = '/pets?limit=100';
    let before: WirePet[] = [];
    for (let failures = 0; failures < FAILED_READS_MAX && !this.#isClosed;) {
      const isLastRead = this.#isOver;
      const response = await client.get(`${pickOrigin()}/v1${target}`).catch(() => undefined);
      if (response?.status !== 200) {
        failures += 1;
        await sleep(POLL_MS);
        continue;
      }
      failures = 0;
      const page = JSON.parse(response.body) as WirePet[];
      this.#take(page, before);
      const next = nextTarget(response.link);
      if (next === undefined && isLastRead) break;
      if (next === undefined) await sleep(POLL_MS);
      before = next === undefined ? page : [];
      target = next ?? target;
    }
    client.close();
  }

  /** `before` is the same page at the previous read. New animals may only be at its end. */
  #take(page: readonly WirePet[], before: readonly WirePet[]): void {
    const ids = new Set(page.map(({ id }) => id));
    const known = new Set(before.map(({ id }) => id));
    for (const id of known.difference(ids)) this.#disappeared.add(id);
    for (const { id, name } of page) {
      if (known.has(id)) continue;
      if (id <= this.#lastId) this.#violations.push(`${id} came after ${this.#lastId}`);
      if (this.#seen.has(name)) this.#violations.push(`${name} was read twice`);
      this.#seen.set(name, id);
      this.#lastId = id;
    }
  }
}
