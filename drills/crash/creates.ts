import { setTimeout as sleep } from 'node:timers/promises';
import { newCursor } from '../../src/domain/page.ts';
import { Client, followList, StalledRequest, type WirePet } from '../client.ts';
import type { Random } from '../random.ts';

const WRITERS = 32;
const PAUSE_MS = 10;
/** A create that got no response is repeated for this long. */
const REPEAT_MS_MAX = 20_000;
/** How many acknowledged creates of a round are repeated too. */
const REPEATED_ACKNOWLEDGED = 20;

/** What clients have sent, what was acknowledged, and whether the store still says the same. */
export class Creates {
  readonly violations: string[] = [];
  /** The acknowledged animal of each create, as JSON, by its name. */
  readonly acknowledged = new Map<string, string>();
  /** The creates without a response. Each may be stored or not. */
  #open = new Set<string>();
  readonly #key: string;
  #count = 0;
  #lastId = 0n;
  repeated = 0;

  constructor(key: string) {
    this.#key = key;
  }

  /** Lets 32 clients create animals until `stop`, or until nothing listens at the address any more. */
  startWriters(baseUrl: string): { stop: () => void; ended: Promise<void> } {
    const state = { isOver: false };
    const write = async () => {
      const client = new Client(this.#key);
      while (!state.isOver) {
        const name = `animal-${(this.#count += 1)}`;
        this.#open.add(name);
        const outcome = await this.#create(client, baseUrl, name);
        if (outcome === 'gone') break;
        if (outcome !== 'acknowledged') await sleep(PAUSE_MS);
      }
      client.close();
    };
    const ended = Promise.all(Array.from({ length: WRITERS }, write)).then(() => undefined);
    return { stop: () => (state.isOver = true), ended };
  }

  /** Repeats every create without a response, and some of the others. Each must succeed, with the same animal. */
  async repeat(baseUrl: string, before: number, random: Random): Promise<void> {
    const known = [...this.acknowledged.keys()].slice(before);
    const sample = Array.from({ length: REPEATED_ACKNOWLEDGED }, () => random.pick(known));
    const names = [...this.#open, ...(known.length === 0 ? [] : sample)];
    this.repeated += this.#open.size;
    const work = async () => {
      const client = new Client(this.#key);
      for (let name = names.pop(); name !== undefined; name = names.pop()) {
        await this.#repeatOne(client, baseUrl, name);
      }
      client.close();
    };
    await Promise.all(Array.from({ length: WRITERS }, work));
  }

  /** Compares the animals that are new since the last call, or all of them, with what was acknowledged. */
  async compare(baseUrl: string, { isAll }: { isAll: boolean }): Promise<void> {
    const client = new Client(this.#key);
    const from = isAll ? 0n : this.#lastId;
    const target = `/pets?limit=100&cursor=${newCursor(from, undefined)}`;
    const seen = new Set<string>();
    let last = Number(from);
    for await (const page of followList((path) => client.get(baseUrl + path), target)) {
      for (const pet of page) {
        if (pet.id <= last) this.violations.push(`${pet.id} came after ${last}`);
        last = pet.id;
        this.#compareOne(pet, seen);
      }
    }
    client.close();
    for (const [name, pet] of this.acknowledged) {
      const { id } = JSON.parse(pet) as WirePet;
      if (id > from && !seen.has(name)) this.violations.push(`${pet} is lost`);
    }
    this.#lastId = BigInt(last);
  }

  #compareOne(pet: WirePet, seen: Set<string>): void {
    const stored = JSON.stringify(pet);
    const acknowledged = this.acknowledged.get(pet.name);
    if (seen.has(pet.name)) this.violations.push(`${pet.name} is stored twice`);
    else if (acknowledged === undefined) this.violations.push(`${stored} was never acknowledged`);
    else if (acknowledged !== stored) {
      this.violations.push(`${acknowledged} was acknowledged and is stored as ${stored}`);
    }
    seen.add(pet.name);
  }

  async #repeatOne(client: Client, baseUrl: string, name: string): Promise<void> {
    const untilMs = performance.now() + REPEAT_MS_MAX;
    while ((await this.#create(client, baseUrl, name)) !== 'acknowledged') {
      if (performance.now() > untilMs) {
        this.violations.push(`${name} could not be repeated within ${REPEAT_MS_MAX} ms`);
        return;
      }
      await sleep(PAUSE_MS);
    }
  }

  async #create(
    client: Client,
    baseUrl: string,
    name: string,
  ): Promise<'acknowledged' | 'refused' | 'gone'> {
    try {
      const { status, body } = await client.create(baseUrl, name, { isClaimed: true });
      if (status === 201) {
        const pet = JSON.stringify(JSON.parse(body));
        const before = this.acknowledged.get(name);
        if (before !== undefined && before !== pet) {
          this.violations.push(`${before} was repeated as ${pet}`);
        }
        this.acknowledged.set(name, pet);
        this.#open.delete(name);
        return 'acknowledged';
      }
      if (status !== 503) this.violations.push(`${name} got ${status} ${body}`);
      return 'refused';
    } catch (error) {
      if (error instanceof StalledRequest) this.violations.push(`${name}: ${error.message}`);
      const { code } = error as NodeJS.ErrnoException;
      return code === 'ECONNREFUSED' ? 'gone' : 'refused';
    }
  }
}
