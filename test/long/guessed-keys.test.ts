// What somebody without a key learns by guessing: nothing. test/golden/requests.txt has the refusals, which are equal.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { newRandom } from '../../harness/random.ts';
import { sqliteStorage, startTestService } from '../../harness/test-service.ts';
import { newApiKey, newSecret } from '../../src/domain/api-key.ts';
import { KEY_PREFIX } from '../../src/domain/key-form.ts';
import { createAuthenticate, type Authenticate } from '../../src/http/authenticate.ts';
import { KeyRing } from '../../src/http/key-ring.ts';

const random = newRandom(9);
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KEY_START = KEY_PREFIX.production.length;
const RANDOM_LENGTH = 30;
const LONG_AGO = new Date('2020-01-01T00:00:00Z');

const newKey = () => newSecret('production', randomBytes);
const textOf = (length: number) =>
  Array.from({ length }, () => random.pick(ALPHABET.split(''))).join('');

/** A key with the right prefix and checksum, and these random characters. */
function keyOf(characters: string): string {
  // The service reduces bytes to its alphabet, so that these bytes choose the characters.
  return newSecret('production', () =>
    Uint8Array.from(characters, (each) => ALPHABET.indexOf(each)),
  );
}

/** A key that shares its first characters with another one, and no more. */
function similarTo(secret: string, sharedLength: number): string {
  const shared = secret.slice(KEY_START, KEY_START + sharedLength);
  const next = secret.charAt(KEY_START + sharedLength);
  const others = ALPHABET.replace(next, '').split('');
  const rest = Array.from({ length: RANDOM_LENGTH - sharedLength }, () => random.pick(others));
  return keyOf(shared + rest.join(''));
}

test('no guessed key is accepted by any operation, and nothing is stored', async (t) => {
  const service = await startTestService(sqliteStorage);
  t.after(() => service.close());
  const { key } = service;
  const at = random.integer(key.length);
  const guesses = [
    textOf(1 + random.integer(60)),
    KEY_PREFIX.production + textOf(36),
    newKey(),
    // With one other character, or other last ones and the right checksum.
    key.slice(0, at) + (key.charAt(at) === 'A' ? 'B' : 'A') + key.slice(at + 1),
    ...[0, 10, 20, 29].map((length) => similarTo(key, length)),
    key.slice(0, -1),
    `${key}0`,
    key.toLowerCase(),
    key.toUpperCase(),
    await service.addKey({ revokedAt: LONG_AGO }),
    await service.addKey({ expiresAt: LONG_AGO }),
    newSecret('staging', randomBytes),
    key.replace(KEY_PREFIX.production, KEY_PREFIX.staging),
  ];
  const body = '{"name":"guessed","categoryId":1}';
  // All at once: an unknown key waits for the next read of all keys.
  const statuses = await Promise.all(
    guesses.flatMap((guess) => {
      const headers = { authorization: `Bearer ${guess}` };
      return [
        service.send('/pets', { headers }),
        service.send('/pets/1', { headers }),
        service.send('/pets', { headers, method: 'POST', body }),
      ].map(async (response) => (await response).status);
    }),
  );
  assert.deepEqual(new Set(statuses), new Set([401]));
  assert.equal((await service.send('/pets')).text, '[]');
});

const KEYS_PER_GROUP = 8;
const CALLS_PER_KEY = 60;
const PAIRS = 32;
/** Of the 30 random characters of a key. */
const SHARED_LENGTH = 28;
/** A difference by chance is as large as this once in 16,000 measurements. */
const Z_MAX = 4;
/** Longer than any pause between two reads of the keys. */
const READ_PAUSE_MS = 10_000;

/** Wraps the check of a key. */
type Wrap = (authenticate: Authenticate, secret: string) => Authenticate;

test('the time of a refusal does not tell how much of a key is right; a careless comparison is found', async () => {
  assert.equal(await isFair((authenticate) => authenticate), true);
  assert.equal(await isFair(careless), false);
});

async function isFair(wrap: Wrap): Promise<boolean> {
  const first = await measure(wrap);
  if (Math.abs(first) <= Z_MAX) return true;
  // A difference counts if a second measurement, with other keys, has it too.
  const second = await measure(wrap);
  return Math.abs(second) <= Z_MAX || Math.sign(first) !== Math.sign(second);
}

/**
 * Refuses keys that share nearly all characters with a valid key, and keys that share as many with a decoy,
 * which no store has, in random order. The signed-rank test of Wilcoxon compares the two over many pairs.
 *
 * It calls the check of a key, without a socket and with a store in memory, which would only add noise. A call is
 * timed until it waits for the next read of all keys: when that begins does not depend on the key.
 *
 * The decoy is needed because keys that share characters with each other are refused faster than random ones:
 * the processor predicts the branches of the pattern that checks their characters.
 */
async function measure(wrap: Wrap): Promise<number> {
  const differencesNs: number[] = [];
  while (differencesNs.length < PAIRS) differencesNs.push(await measurePair(wrap));
  return signedRank(differencesNs);
}

/** How much later a key like a valid one is refused than one like a decoy. */
async function measurePair(wrap: Wrap): Promise<number> {
  const valid = newKey();
  const record = newApiKey({ secret: valid, name: 'a', now: new Date(), randomBytes });
  let elapsedMs = 0;
  const clock = { now: () => new Date(), elapsedMs: () => elapsedMs };
  const keys = new KeyRing({ listApiKeys: async () => [record] }, clock);
  await keys.open();
  const authenticate = wrap(createAuthenticate({ environment: 'production', keys, clock }), valid);
  const timesNs: Record<string, number[]> = { valid: [], decoy: [] };
  const samples = Object.entries({ valid, decoy: decoyOf(valid) }).flatMap(([group, secret]) =>
    Array.from({ length: KEYS_PER_GROUP }, () => ({
      group,
      // Through a buffer, so that all texts have the same form in memory.
      authorization: Buffer.from(`Bearer ${similarTo(secret, SHARED_LENGTH)}`).toString('latin1'),
    })),
  );
  for (let call = 0; call < CALLS_PER_KEY * samples.length; call += 1) {
    const { group, authorization } = random.pick(samples);
    elapsedMs += READ_PAUSE_MS;
    const startNs = process.hrtime.bigint();
    const checked = authenticate({ headers: { authorization } });
    timesNs[group]?.push(Number(process.hrtime.bigint() - startNs));
    await checked.then(
      () => assert.fail('a guessed key was accepted'),
      () => undefined,
    );
  }
  await keys.close();
  return medianOf(timesNs['valid']) - medianOf(timesNs['decoy']);
}

/** Another key with digits, small and capital letters at the same places. */
function decoyOf(secret: string): string {
  const characters = Array.from(secret.slice(KEY_START, KEY_START + RANDOM_LENGTH), (character) => {
    const kind = [/\d/, /[A-Z]/, /[a-z]/].find((each) => each.test(character)) ?? /./;
    return random.pick(ALPHABET.split('').filter((each) => kind.test(each) && each !== character));
  });
  return keyOf(characters.join(''));
}

function medianOf(numbers: readonly number[] = []): number {
  return numbers.toSorted((left, right) => left - right)[numbers.length >> 1] ?? 0;
}

/** The statistic of the signed-rank test, as a multiple of its standard deviation. */
function signedRank(differences: readonly number[]): number {
  const bySize = differences.toSorted((left, right) => Math.abs(left) - Math.abs(right));
  const sum = bySize.reduce((total, each, index) => total + Math.sign(each) * (index + 1), 0);
  const count = differences.length;
  return sum / Math.sqrt((count * (count + 1) * (2 * count + 1)) / 6);
}

/** Compares character by character up to the first difference, as a careless service would. */
function careless(authenticate: Authenticate, secret: string): Authenticate {
  return async (request) => {
    const given = (request.headers.authorization ?? '').slice('Bearer '.length);
    for (let at = 0; at < secret.length && secret[at] === given[at]; at += 1);
    return authenticate(request);
  };
}
