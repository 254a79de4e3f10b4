import { hash } from 'node:crypto';
import { crc32 } from './crc32.ts';
import { environmentOf, isKeyForm, KEY_PREFIX, type Environment } from './key-form.ts';

/** `pets:manage` is for people in the console: it changes and removes animals. */
export const SCOPES = ['pets:read', 'pets:write', 'pets:manage'] as const;
export type Scope = (typeof SCOPES)[number];
/** Of a key for which no scopes are named. */
export const DEFAULT_SCOPES: readonly Scope[] = ['pets:read', 'pets:write'];

/** An API key as it is stored: its hash and its attributes, but never the key itself. */
export interface ApiKey {
  id: string;
  /** The first key of a chain of rotations, or the key itself. The keys of a chain share their claims. */
  firstKeyId: string;
  /** SHA-256 of the key, in hexadecimal. */
  hash: string;
  name: string;
  scopes: Scope[];
  createdAt: Date;
  expiresAt: Date | undefined;
  revokedAt: Date | undefined;
  lastUsedAt: Date | undefined;
  lastDeprecatedCallAt: Date | undefined;
}

export const KEY_NAME_LENGTH_MAX = 100;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const ID_RANDOM_LENGTH = 10;

/** Returns `count` random bytes. Passed in, so that a test can choose them. */
export type RandomBytes = (count: number) => Uint8Array;

/** A key as it is stored. The secret is shown once, and is not part of it. */
export function newApiKey(options: {
  secret: string;
  name: string;
  scopes?: readonly Scope[];
  expiresAt?: Date | undefined;
  /** Given for a key that replaces another. */
  firstKeyId?: string;
  now: Date;
  randomBytes: RandomBytes;
}): ApiKey {
  const { secret, name, scopes = DEFAULT_SCOPES, expiresAt, now, randomBytes } = options;
  const id = `key_${randomText(ID_RANDOM_LENGTH, randomBytes)}`;
  return {
    id,
    firstKeyId: options.firstKeyId ?? id,
    hash: hashApiKey(secret),
    name,
    scopes: [...scopes],
    createdAt: now,
    expiresAt,
    revokedAt: undefined,
    lastUsedAt: undefined,
    lastDeprecatedCallAt: undefined,
  };
}

export function newSecret(environment: Environment, randomBytes: RandomBytes): string {
  const body = KEY_PREFIX[environment] + randomText(RANDOM_LENGTH, randomBytes);
  return body + checksum(body);
}

/** The environment of a key, or undefined if the text is not a key. Needs no store, only the checksum. */
export function environmentOfSecret(secret: string): Environment | undefined {
  if (!isKeyForm(secret)) return undefined;
  const body = secret.slice(0, -CHECKSUM_LENGTH);
  if (secret.slice(-CHECKSUM_LENGTH) !== checksum(body)) return undefined;
  return environmentOf(secret);
}

export function hashApiKey(secret: string): string {
  return hash('sha256', secret, 'hex');
}

type KeyState = 'active' | 'expired' | 'revoked';

/** A revocation time is not compared with the clock: another machine set it, and clocks differ. */
export function stateOfKey(key: ApiKey, now: Date): KeyState {
  if (key.revokedAt !== undefined) return 'revoked';
  if (key.expiresAt !== undefined && key.expiresAt <= now) return 'expired';
  return 'active';
}

function checksum(body: string): string {
  let rest = crc32(Buffer.from(body, 'latin1'));
  let text = '';
  for (let place = 0; place < CHECKSUM_LENGTH; place += 1) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}

/** Random base62 without bias: bytes of 248 and above would favour the first letters and are skipped. */
export function randomText(length: number, randomBytes: RandomBytes): string {
  const fairLimit = 256 - (256 % ALPHABET.length);
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < fairLimit && text.length < length) text += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return text;
}
