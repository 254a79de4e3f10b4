import { parseJson } from '../../sdk/src/json.ts';
import type { OpenApiDocument, Operation } from './document.ts';
import { isValidText, type Caller } from './requests.ts';
import { Schemas, type Schema } from './json-schema.ts';

const BODY_BYTES_MAX = 64 * 1024;
const LIMIT_DEFAULT = 20;
const STATUS_DEFAULT = 'available';

export interface ModelPet {
  id: bigint;
  name: string;
  categoryId: bigint;
  status: string;
}

/** A valid body. */
type SentPet = Omit<ModelPet, 'id' | 'status'> & { status?: string };

/** A request as it is sent. */
export interface Sending {
  operation: Operation;
  isHead: boolean;
  caller: Caller;
  parameters: Readonly<Record<string, readonly string[]>>;
  body: string | undefined;
  contentType: string | undefined;
}

export interface Cursor {
  text: string;
  status: string | undefined;
  afterId: bigint;
}

export interface Page {
  pets: ModelPet[];
  hasNext: boolean;
}

/** What the catalogue must hold, and what the service must respond. Written from the documents, not the code. */
export class Model {
  readonly pets: ModelPet[] = [];
  readonly cursors: Cursor[] = [];
  /** The animals of earlier creates by caller and Idempotency-Key. */
  readonly #claims = new Map<string, ModelPet>();
  readonly #schemas: Schemas;
  readonly isRemoved: boolean;

  constructor(document: OpenApiDocument, { isRemoved }: { isRemoved: boolean }) {
    this.#schemas = new Schemas(document.components.schemas);
    this.isRemoved = isRemoved;
  }

  isAccepted(caller: Caller): boolean {
    return ['both scopes', 'pets:read', 'pets:write'].includes(caller);
  }

  /** The status, if no rate limit applies. */
  expectedStatus(sending: Sending): number {
    const { operation, caller } = sending;
    const { operationId } = operation;
    const scope = operationId === 'createPet' ? 'pets:write' : 'pets:read';
    if (!this.isAccepted(caller)) return 401;
    if (caller !== 'both scopes' && caller !== scope) return 403;
    if (operationId === 'createPet') return this.#expectedOfCreate(sending);
    if (operationId === 'getPet' && this.isRemoved) return 410;
    if (isStrict(sending) && has(sending, 'unknown')) return 400;
    if (operationId === 'getPet') {
      if (this.findPet(sending) === undefined) return 404;
    } else if (!this.#isValidList(sending)) return 400;
    return sending.parameters['If-None-Match']?.[0] === '*' ? 304 : 200;
  }

  #isValidList(sending: Sending): boolean {
    const { operation, parameters } = sending;
    const isValid = operation.parameters
      .filter((parameter) => parameter.in === 'query')
      .every(({ name, schema }) => {
        const values = parameters[name] ?? [];
        return values.length <= 1 && values.every((text) => this.#isValid(schema, text));
      });
    if (!isValid || !has(sending, 'cursor')) return isValid;
    return isLast(sending) || this.#findCursor(sending).status === parameters['status']?.[0];
  }

  #isValid(schema: Schema, text: string): boolean {
    return isValidText(schema, this.#schemas, text);
  }

  /** The status of an unknown cursor is one that no request has. */
  #findCursor({ parameters }: Sending): Pick<Cursor, 'status' | 'afterId'> {
    const text = parameters['cursor']?.[0];
    const found = this.cursors.find((cursor) => cursor.text === text);
    return found ?? { status: 'unknown cursor', afterId: 0n };
  }

  #expectedOfCreate(sending: Sending): number {
    const { operation, contentType = '', body = '', parameters } = sending;
    if (contentType !== '' && !contentType.startsWith('application/json')) return 415;
    if (Buffer.byteLength(body) > BODY_BYTES_MAX) return 413;
    const pet = this.#parseBody(sending);
    if (pet === undefined) return 400;
    if (isStrict(sending) && has(sending, 'unknown')) return 400;
    const isValid = operation.parameters
      .filter((parameter) => parameter.name === 'Idempotency-Key')
      .every(({ name, schema }) =>
        (parameters[name] ?? []).every((text) => this.#isValid(schema, text)),
      );
    if (!isValid) return 400;
    const earlier = this.findClaimed(sending);
    const isOther =
      earlier !== undefined &&
      (earlier.name !== pet.name ||
        earlier.categoryId !== pet.categoryId ||
        earlier.status !== pet.status);
    return isOther ? 422 : 201;
  }

  #parseBody(sending: Sending): Omit<ModelPet, 'id'> | undefined {
    const schema = this.#bodySchema(sending);
    let value: unknown;
    try {
      value = parseJson(sending.body ?? '');
    } catch {
      return undefined;
    }
    if (this.#schemas.findFault(schema, value) !== undefined) return undefined;
    const known = Object.keys(this.#schemas.resolve(schema).properties ?? {});
    const hasUnknown = Object.keys(value as object).some((name) => !known.includes(name));
    if (hasUnknown && isStrict(sending)) return undefined;
    const { name, categoryId, status } = value as SentPet;
    return { name, categoryId, status: status ?? STATUS_DEFAULT };
  }

  #bodySchema({ operation }: Sending): Schema {
    return operation.requestBody?.content['application/json']?.schema ?? {};
  }

  findClaimed({ caller, parameters }: Sending): ModelPet | undefined {
    const [key] = parameters['Idempotency-Key'] ?? [];
    return key === undefined ? undefined : this.#claims.get(`${caller} ${keyText(key)}`);
  }

  /** Adds the animal of a create that got the next id. */
  add(sending: Sending, id: bigint): ModelPet {
    const { caller, parameters } = sending;
    const body = this.#parseBody(sending);
    if (body === undefined) throw new Error('an invalid animal was created');
    const pet = { id, ...body };
    this.pets.push(pet);
    const [key] = parameters['Idempotency-Key'] ?? [];
    if (key !== undefined) this.#claims.set(`${caller} ${keyText(key)}`, pet);
    return pet;
  }

  findPet({ parameters }: Sending): ModelPet | undefined {
    const [id] = parameters['petId'] ?? [];
    return this.pets.find((pet) => String(pet.id) === id);
  }

  /** The page that a valid list must return. */
  page(sending: Sending): Page {
    const { parameters } = sending;
    const [status] = parameters['status'] ?? [];
    const limit = Number(parameters['limit']?.[0] ?? LIMIT_DEFAULT);
    const ofStatus = this.pets.filter((pet) => status === undefined || pet.status === status);
    if (isLast(sending)) return { pets: ofStatus.slice(-limit), hasNext: false };
    const afterId = has(sending, 'cursor') ? this.#findCursor(sending).afterId : 0n;
    const matching = ofStatus.filter((pet) => pet.id > afterId);
    return { pets: matching.slice(0, limit), hasNext: matching.length > limit };
  }
}

function has({ parameters }: Sending, name: string): boolean {
  return (parameters[name]?.length ?? 0) > 0;
}

function isLast({ parameters }: Sending): boolean {
  return parameters['cursor']?.[0] === 'last';
}

export function isStrict({ parameters }: Sending): boolean {
  return parameters['Prefer']?.[0] === 'handling=strict';
}

/** An Idempotency-Key is the same with and without double quotes, and the escapes within them. */
function keyText(header: string): string {
  return /^"(?:[^"\\]|\\["\\])+"$/.test(header)
    ? header.slice(1, -1).replaceAll(/\\(["\\])/g, '$1')
    : header;
}
