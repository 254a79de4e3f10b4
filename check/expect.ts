import type { Exchange } from './client.ts';
import { findErrorFault, findPetFault, isRecord, show, type SeenPet } from './shapes.ts';
import { Broken } from './verdict.ts';

export function expectThat(
  holds: boolean,
  exchange: Exchange,
  expected: string,
): asserts holds is true {
  if (!holds) throw new Broken(exchange, expected);
}

export function expectPets(exchange: Exchange): SeenPet[] {
  const { status, body } = exchange;
  expectThat(status === 200 && Array.isArray(body), exchange, '200 with a JSON array of Pet');
  const pets = body as unknown[];
  for (const [index, pet] of pets.entries()) {
    const fault = findPetFault(pet);
    expectThat(
      fault === undefined,
      exchange,
      `200 with a JSON array of Pet; in element ${index} ${fault}`,
    );
  }
  return pets as SeenPet[];
}

export function expectPet(exchange: Exchange, status: 200 | 201): SeenPet {
  expectThat(exchange.status === status, exchange, `${status} with a Pet`);
  const fault = findPetFault(exchange.body);
  expectThat(fault === undefined, exchange, `${status} with a Pet; ${fault}`);
  return exchange.body as SeenPet;
}

/** Expects that an animal was added with these values. Other clauses judge its other fields. */
export function expectAdded(exchange: Exchange, values: Partial<SeenPet>): void {
  const { status, body } = exchange;
  const parts = Object.entries(values).map(([field, value]) => `${field} ${show(value)}`);
  const isAsSent =
    isRecord(body) && Object.entries(values).every(([field, value]) => body[field] === value);
  expectThat(status === 201 && isAsSent, exchange, `201 with ${parts.join(', ')}`);
}

export function expectError(exchange: Exchange, status: 400 | 401 | 404): void {
  expectThat(exchange.status === status, exchange, `${status} with an Error body`);
  expectErrorBody(exchange);
}

export function expectErrorBody(exchange: Exchange): void {
  const fault = findErrorFault(exchange.body);
  expectThat(fault === undefined, exchange, `an Error body; ${fault}`);
}

/** Whether the request was refused with 4xx and an Error body, as a request outside the bounds may be. */
export function isRefused(exchange: Exchange): boolean {
  if (exchange.status < 400 || exchange.status > 499) return false;
  expectErrorBody(exchange);
  return true;
}
