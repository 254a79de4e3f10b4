import { crc32 } from './crc32.ts';
import { Refusal } from './errors.ts';
import { INT64_MAX } from './int64.ts';
import { PET_STATUSES, type PetStatus } from './pet.ts';

export const LIMIT_MIN = 1;
export const LIMIT_MAX = 100;
export const LIMIT_DEFAULT = 20;
export const CURSOR_LENGTH_MAX = 64;
/** The cursor of the last page. It is the same for every filter, and no other cursor has this text. */
export const LAST_CURSOR = 'last';

export const Limit = {
  type: 'integer',
  minimum: LIMIT_MIN,
  maximum: LIMIT_MAX,
  default: LIMIT_DEFAULT,
  examples: [50],
} as const;

export const Cursor = {
  type: 'string',
  minLength: 1,
  maxLength: CURSOR_LENGTH_MAX,
  pattern: '^[A-Za-z0-9_-]+$',
  examples: [LAST_CURSOR],
} as const;

/**
 * Where a page is in the order of ids: the animals that follow an id, or the last ones up to an id. Both kinds
 * are in ascending order.
 */
export type PagePosition = { afterId: bigint } | { upToId: bigint };

/** The position of the last page of a list. */
export const LAST_POSITION = { upToId: INT64_MAX } as const;

/** A request for a page: at most `limit` animals of this status at the position. */
export type PageRequest = PagePosition & {
  limit: number;
  status: PetStatus | undefined;
};

/** The values of each parameter of a query, by name. */
export type QueryValues = ReadonlyMap<string, readonly string[]>;

/**
 * Parses the query parameters of a list. The Refusal names every faulty parameter, and also what the caller has
 * found wrong with the query. Its code is `invalid_cursor` only if nothing but the cursor is wrong.
 */
export function parsePageRequest(values: QueryValues, otherFault?: Refusal): PageRequest {
  const limit = parseOnce(values, 'limit', parseLimit) ?? LIMIT_DEFAULT;
  const status = parseOnce(values, 'status', parseStatus);
  const position = parseOnce(values, 'cursor', (text) => parseCursor(text, status));
  if (
    limit instanceof Refusal ||
    status instanceof Refusal ||
    position instanceof Refusal ||
    otherFault !== undefined
  ) {
    const all = [limit, status, position, otherFault];
    throw refusalOf(all.filter((each) => each instanceof Refusal));
  }
  return { limit, status, ...(position ?? { afterId: 0n }) };
}

/** One Refusal of several, which are at least one. */
export function refusalOf(faults: readonly Refusal[]): Refusal {
  const other = faults.find(({ code }) => code !== 'invalid_cursor');
  const message = faults.map((fault) => fault.message).join(' ');
  return new Refusal(other?.code ?? 'invalid_cursor', message);
}

/** A repeated parameter is a fault, because it is unclear which value counts. */
export function parseOnce<Value>(
  values: QueryValues,
  name: string,
  parse: (text: string) => Value | Refusal,
): Value | Refusal | undefined {
  const [text, ...others] = values.get(name) ?? [];
  if (text === undefined) return undefined;
  if (others.length === 0) return parse(text);
  return new Refusal('invalid_parameter', `${name} was given twice; it must be given once.`);
}

function parseLimit(text: string): number | Refusal {
  const limit = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : Number.NaN;
  if (limit <= LIMIT_MAX) return limit;
  return new Refusal(
    'invalid_parameter',
    `limit must be an integer from ${LIMIT_MIN} to ${LIMIT_MAX}.`,
  );
}

function parseStatus(text: string): PetStatus | Refusal {
  return (
    PET_STATUSES.find((known) => known === text) ??
    new Refusal('invalid_parameter', `status must be one of ${PET_STATUSES.join(', ')}.`)
  );
}

// A cursor is the base64url form of 13 bytes: one for the status filter and the direction, eight for an id, and
// a CRC-32 of these nine. The checksum only detects damage; a cursor holds no secret.
const FILTER_BYTE = { all: 0, available: 1, pending: 2, sold: 3 } as const;
/** Added to the first byte of a cursor that leads back towards the oldest animal. */
const BACKWARD = 4;
const CHECKED_BYTES = 9;
const CURSOR_BYTES = 13;

/** The cursor for the animals after an id or, on the way back, for the last ones up to an id. */
export function newCursor(
  id: bigint,
  status: PetStatus | undefined,
  direction: 'forward' | 'backward' = 'forward',
): string {
  const bytes = Buffer.allocUnsafe(CURSOR_BYTES);
  const filter = FILTER_BYTE[status ?? 'all'];
  bytes.writeUInt8(direction === 'forward' ? filter : filter + BACKWARD, 0);
  bytes.writeBigInt64BE(id, 1);
  bytes.writeUInt32BE(crc32(bytes, CHECKED_BYTES), CHECKED_BYTES);
  return bytes.toString('base64url');
}

/** A cursor cannot be compared with a status that is refused itself. */
export function parseCursor(
  text: string,
  status: PetStatus | Refusal | undefined,
): PagePosition | Refusal {
  if (text === LAST_CURSOR) return LAST_POSITION;
  const bytes = Buffer.from(text, 'base64url');
  if (
    bytes.length !== CURSOR_BYTES ||
    // Decoding is lenient: several texts give the same bytes. Only the text that newCursor writes is valid.
    bytes.toString('base64url') !== text ||
    bytes.readUInt32BE(CHECKED_BYTES) !== crc32(bytes, CHECKED_BYTES)
  ) {
    return new Refusal(
      'invalid_cursor',
      'cursor is not valid: use "last", or the one in the rel="next" or rel="prev" link of a page.',
    );
  }
  const id = bytes.readBigInt64BE(1);
  const first = bytes.readUInt8(0);
  const filter = status instanceof Refusal ? first % BACKWARD : FILTER_BYTE[status ?? 'all'];
  if (first === filter) return { afterId: id };
  if (first === filter + BACKWARD) return { upToId: id };
  return new Refusal(
    'invalid_cursor',
    'cursor is for a different status filter: use the same status as for the page that returned it.',
  );
}
