import { setTimeout as sleep } from 'node:timers/promises';
import { newCursor } from '../src/domain/page.ts';
import { Client, followList, type ClientResponse, type WirePet } from './client.ts';
import type { Random } from './random.ts';

const NEWEST = 1_000;
/** A list that is refused with 503 is sent again for this long. */
const LIST_MS_MAX = 20_000;
const PAUSE_MS = 50;

/**
 * The model of the catalogue: which creates clients have sent, which were acknowledged, and whether the store
 * says the same. Every animal has its own name.
 */
export class Creates {
  readonly violations: string[] = [];
  /** The acknowledged animal of each create, as JSON, by its name. */
  readonly acknowledged = new Map<string, string>();
  /** The name of each acknowledged create, by its id. */
  readonly #names = new Map<number, string>();
  /** The creates without a response. Each may be stored or not. */
  readonly open = new Set<string>();
  #count = 0;
  #lastId = 0;
  #newest: WirePet | undefined;
  readonly #nameEnd: () => string;

  constructor(nameEnd = () => '') {
    this.#nameEnd = nameEnd;
  }

  /** The acknowledged animal with the highest id. */
  get newest(): WirePet | undefined {
    return this.#newest;
  }

  /** Some names of the creates that were acknowledged last. */
  sample(count: number, random: Random): string[] {
    const newest = [...this.acknowledged.keys()].slice(-NEWEST);
    return Array.from({ length: newest.length === 0 ? 0 : count }, () => random.pick(newest));
  }

  begin(): string {
    const name = `animal-${(this.#count += 1)}${this.#nameEnd()}`;
    this.open.add(name);
    return name;
  }

  /** Notes a response with 201, perhaps to a create that was repeated. */
  acknowledge(name: string, body: string): void {
    const pet = JSON.parse(body) as WirePet;
    const text = JSON.stringify(pet);
    const before = this.acknowledged.get(name);
    if (pet.name !== name) this.violations.push(`${name} got the animal ${text}`);
    if (before !== undefined && before !== text) {
      this.violations.push(`${before} was repeated as ${text}`);
    }
    const other = this.#names.get(pet.id) ?? name;
    if (other !== name) this.violations.push(`${pet.id} is the id of both ${other} and ${name}`);
    this.#names.set(pet.id, name);
    this.acknowledged.set(name, text);
    this.open.delete(name);
    if (pet.id > (this.#newest?.id ?? 0)) this.#newest = pet;
  }

  /** Compares the animals that are new since the last call, or all of them, with what was acknowledged. */
  async compare(baseUrl: string, key: string, { isAll = true } = {}): Promise<void> {
    const client = new Client(key);
    const from = isAll ? 0 : this.#lastId;
    const target = `/pets?limit=100&cursor=${newCursor(BigInt(from), undefined)}`;
    const seen = new Set<string>();
    let last = from;
    for await (const page of followList((path) => list(client, baseUrl + path), target)) {
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
    this.#lastId = last;
  }

  #compareOne(pet: WirePet, seen: Set<string>): void {
    const stored = JSON.stringify(pet);
    const acknowledged = this.acknowledged.get(pet.name);
    if (seen.has(pet.name)) this.violations.push(`${pet.name} is stored twice`);
    else if (acknowledged === undefined && !this.open.has(pet.name)) {
      this.violations.push(`${stored} was never sent`);
    } else if (acknowledged !== undefined && acknowledged !== stored) {
      this.violations.push(`${acknowledged} was acknowledged and is stored as ${stored}`);
    }
    seen.add(pet.name);
  }
}

/** After a fault the service may refuse reads for a moment. */
async function list(client: Client, url: string): Promise<ClientResponse> {
  const untilMs = performance.now() + LIST_MS_MAX;
  for (;;) {
    const response = await client.get(url);
    if (response.status === 200) return response;
    if (response.status !== 503 || performance.now() > untilMs) {
      throw new Error(`GET ${url} returned ${response.status} ${response.body}`);
    }
    await sleep(PAUSE_MS);
  }
}
