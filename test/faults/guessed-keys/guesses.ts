import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { newSecret } from '../../../src/domain/api-key.ts';
import { KEY_PREFIX } from '../../../src/domain/key-form.ts';
import { newRandom, type Random } from '../../../harness/random.ts';
import {
  startTestService,
  type TestService,
  type TestStorage,
} from '../../../harness/test-service.ts';
import { findDifferentRefusals } from './refusals.ts';

/** Well-formed keys wait for the next read of all keys, so there must be many at a time. */
const CONNECTIONS = 500;
/**
 * 503: too many unknown keys were waiting. 408: the machine was so busy that this process, which is client and
 * service, did not read a request in time.
 */
const REPEATED_STATUSES = [408, 503];
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const LONG_AGO = new Date('2020-01-01T00:00:00Z');
/** The service reduces bytes to its alphabet, so that these bytes choose the characters. */
const chosenBytes = (text: string) => Uint8Array.from(text, (each) => ALPHABET.indexOf(each));

/** A key with the right prefix and checksum, and the first characters of another key. */
export function newSimilarSecret(secret: string, sharedLength: number, random: Random): string {
  const start = KEY_PREFIX.production.length;
  const shared = secret.slice(start, start + sharedLength);
  const next = secret.charAt(start + sharedLength);
  const others = ALPHABET.replace(next, '').split('');
  const rest = Array.from({ length: RANDOM_LENGTH - sharedLength }, () => random.pick(others));
  return newSecret('production', () => chosenBytes(shared + rest.join('')));
}

/** Another key with digits, small and capital letters at the same places. */
export function newSecretOfSameKind(secret: string, random: Random): string {
  const start = KEY_PREFIX.production.length;
  const characters = Array.from(secret.slice(start, start + RANDOM_LENGTH), (character) => {
    const kind = [/\d/, /[A-Z]/, /[a-z]/].find((each) => each.test(character)) ?? /./;
    return random.pick(ALPHABET.split('').filter((each) => kind.test(each) && each !== character));
  });
  return newSecret('production', () => chosenBytes(characters.join('')));
}

export interface KnownKeys {
  valid: string;
  revoked: string;
  expired: string;
}

type Guess = (keys: KnownKeys, random: Random) => string;

/** What somebody without a key could try. */
export const GUESSES: Readonly<Record<string, Guess>> = {
  'random characters': (_, random) => randomText(random, 1 + random.integer(60)),
  'the right prefix': (_, random) => KEY_PREFIX.production + randomText(random, 36),
  'the right prefix and checksum': () => newSecret('production', randomBytes),
  'a valid key with one character changed': ({ valid }, random) => {
    const at = random.integer(valid.length);
    const other = ALPHABET.replace(valid.charAt(at), '').split('');
    return valid.slice(0, at) + random.pick(other) + valid.slice(at + 1);
  },
  'a valid key with other last characters and the right checksum': ({ valid }, random) =>
    newSimilarSecret(valid, random.integer(RANDOM_LENGTH), random),
  'a valid key that is cut, longer or in another case': ({ valid }, random) =>
    random.pick([valid.slice(0, -1), `${valid}0`, valid.toLowerCase(), valid.toUpperCase()]),
  'a revoked key': ({ revoked }) => revoked,
  'an expired key': ({ expired }) => expired,
  'a key of the other environment': () => newSecret('staging', randomBytes),
  'the valid key with the prefix of the other environment': ({ valid }) =>
    valid.replace(KEY_PREFIX.production, KEY_PREFIX.staging),
};

function randomText(random: Random, length: number): string {
  return Array.from({ length }, () => ALPHABET.charAt(random.integer(ALPHABET.length))).join('');
}

export interface GuessReport {
  guesses: number;
  /** Guesses that got one of REPEATED_STATUSES, and were sent again. */
  repeated: number;
  violations: string[];
}

/** Sends the guesses and compares the refusals, on one store. */
export async function guessOn(
  storage: TestStorage,
  { guesses, seed, kinds = GUESSES }: { guesses: number; seed: number; kinds?: typeof GUESSES },
): Promise<GuessReport & { compared: number }> {
  const service = await startTestService(storage, { logLevel: 'silent' });
  try {
    const keys: KnownKeys = {
      valid: service.key,
      revoked: await service.addKey({ revokedAt: LONG_AGO }),
      expired: await service.addKey({ expiresAt: LONG_AGO }),
    };
    const report = await guessKeys(service, keys, { guesses, random: newRandom(seed), kinds });
    const unknown = newSecret('production', randomBytes);
    const refusals = await findDifferentRefusals(service, { unknown, revoked: keys.revoked });
    const violations = [...report.violations, ...refusals.violations];
    return { ...report, compared: refusals.compared, violations };
  } finally {
    await service.close();
  }
}

/** Sends guessed keys to every operation. Each must get 401, and nothing may be stored. */
async function guessKeys(
  service: TestService,
  keys: KnownKeys,
  options: {
    guesses: number;
    random: Random;
    kinds: Readonly<Record<string, Guess>>;
  },
): Promise<GuessReport> {
  const { guesses, random, kinds } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const report: GuessReport = { guesses: 0, repeated: 0, violations: [] };
  const names = Object.keys(kinds);
  let begun = 0;
  const guess = async () => {
    while (begun < guesses) {
      const name = names[begun % names.length] ?? '';
      const secret = kinds[name]?.(keys, random) ?? '';
      begun += 1;
      const [method, path] = random.pick(TARGETS);
      const send = () => statusOf(agent, { method, url: service.baseUrl + path, secret });
      let status = await send();
      for (; REPEATED_STATUSES.includes(status); status = await send()) report.repeated += 1;
      if (status !== 401) report.violations.push(`${name}: ${method} ${path} returned ${status}`);
      report.guesses += 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, guess));
  agent.destroy();
  const { text } = await service.send('/pets');
  if (text !== '[]') report.violations.push(`a guessed key has stored ${text}`);
  return report;
}

const TARGETS = [
  ['GET', '/pets'],
  ['POST', '/pets'],
  ['GET', '/pets/1'],
] as const;

function statusOf(
  agent: Agent,
  { method, url, secret }: { method: string; url: string; secret: string },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const body = method === 'POST' ? '{"name":"guessed","categoryId":1}' : '';
    const headers = { Authorization: `Bearer ${secret}`, 'Content-Length': body.length };
    const sent = request(url, { method, headers, agent }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
