import { hash } from 'node:crypto';
import { Refusal } from './errors.ts';
import type { NewPet } from './pet.ts';

export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;
const RETENTION_MS = 24 * 60 * 60 * 1000;

/** The headers that parseIdempotencyKey accepts; a test compares the two. */
export const IdempotencyKey = {
  type: 'string',
  pattern: String.raw`^(?:[!-~]|[!#-~][!-~]|"[!#-~]|[!-~]{3,255}|"(?:[!#-\[\]-~]|\\["\\]){1,255}")$`,
  examples: ['"delivery-2026-11-15-line-3"'],
} as const;

/** Identifies a create, so that it happens once even if it is sent several times. */
export interface IdempotencyClaim {
  apiKeyId: string;
  key: string;
  /**
   * Equal for two creates whose animals have the same fields. A store therefore keeps only the id: the body of a
   * repeated create has the rest.
   */
  fingerprint: string;
  now: Date;
  /** From this time on, the key can be used for another animal. */
  expiresAt: Date;
}

export function newIdempotencyClaim(
  key: string,
  pet: NewPet,
  options: { apiKeyId: string; now: Date },
): IdempotencyClaim {
  const { apiKeyId, now } = options;
  const fingerprint = hash(
    'sha256',
    JSON.stringify([pet.name, String(pet.categoryId), pet.status]),
    'hex',
  );
  return { apiKeyId, key, fingerprint, now, expiresAt: new Date(now.getTime() + RETENTION_MS) };
}

/** Parses the header: 1 to 255 visible ASCII characters, with or without double quotes. */
export function parseIdempotencyKey(header: string): string {
  const quoted = /^"((?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/.exec(header)?.[1];
  const key = quoted === undefined ? header : quoted.replaceAll(/\\(["\\])/g, '$1');
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= IDEMPOTENCY_KEY_LENGTH_MAX) return key;
  throw new Refusal(
    'invalid_idempotency_key',
    `Idempotency-Key must be 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} visible ASCII characters, with or without double quotes.`,
  );
}
