// How long the service takes to refuse a key must not depend on how much of the key is right.

import { randomBytes } from 'node:crypto';
import { newApiKey, newSecret } from '../../src/domain/api-key.ts';
import {
  createAuthenticate,
  type Authenticate,
  type Credentials,
} from '../../src/http/authenticate.ts';
import { KeyRing } from '../../src/http/key-ring.ts';
import type { Random } from '../../harness/random.ts';
import { newSecretOfSameKind, newSimilarSecret } from '../faults/guessed-keys/guesses.ts';

const KEYS_PER_GROUP = 8;
const CALLS_PER_KEY = 60;
/** Of the 30 random characters of a key. */
const SHARED_LENGTH = 28;
/** A difference by chance is as large as this once in 16,000 measurements. */
const Z_MAX = 4;
/** Longer than any pause between two reads of the keys. */
const READ_PAUSE_MS = 10_000;

export interface Timing {
  /** The difference, in standard deviations of a difference by chance. */
  z: number;
  /** The median difference of a pair of keys, and the median time of a refusal, in nanoseconds. */
  differenceNs: number;
  refusalNs: number;
}

/** Wraps the check of a key, for the control. */
export type Wrap = (authenticate: Authenticate, secret: string) => Authenticate;

export interface TimingOptions {
  /** How many pairs of a valid key and a decoy are compared. */
  pairs: number;
  random: Random;
  wrap?: Wrap;
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
export async function measureTiming({ pairs, random, wrap }: TimingOptions): Promise<Timing> {
  const measured: Pair[] = [];
  for (let count = 0; count < pairs; count += 1) measured.push(await measurePair(random, wrap));
  const differencesNs = measured.map(({ validNs, decoyNs }) => validNs - decoyNs);
  return {
    z: signedRank(differencesNs),
    differenceNs: medianOf(differencesNs),
    refusalNs: medianOf(measured.map(({ decoyNs }) => decoyNs)),
  };
}

/** A difference is a violation if a second measurement, with other keys, has it too. */
export async function findTimingViolations(
  options: TimingOptions,
): Promise<{ timing: Timing; violations: string[] }> {
  const first = await measureTiming(options);
  if (Math.abs(first.z) <= Z_MAX) return { timing: first, violations: [] };
  const timing = await measureTiming(options);
  const isSame = Math.abs(timing.z) > Z_MAX && Math.sign(timing.z) === Math.sign(first.z);
  const text = `a key like a valid one is refused ${timing.differenceNs} ns later than one like a decoy: ${timing.z.toFixed(1)} standard deviations`;
  return { timing, violations: isSame ? [text] : [] };
}

interface Pair {
  validNs: number;
  decoyNs: number;
}

interface Sample {
  request: Credentials;
  timesNs: number[];
}

async function measurePair(random: Random, wrap?: Wrap): Promise<Pair> {
  const valid = newSecret('production', randomBytes);
  const decoy = newSecretOfSameKind(valid, random);
  const record = newApiKey({ secret: valid, name: 'a', now: new Date(), randomBytes });
  let elapsedMs = 0;
  const clock = { now: () => new Date(), elapsedMs: () => elapsedMs };
  const keys = new KeyRing({ listApiKeys: async () => [record] }, clock);
  await keys.open();
  const real = createAuthenticate({ environment: 'production', keys, clock });
  const authenticate = wrap?.(real, valid) ?? real;
  const likeValid = newSamples(valid, random);
  const likeDecoy = newSamples(decoy, random);
  const samples = [...likeValid, ...likeDecoy];
  for (let count = 0; count < CALLS_PER_KEY; count += 1) {
    shuffle(samples, random);
    for (const { request, timesNs } of samples) {
      elapsedMs += READ_PAUSE_MS;
      const startNs = process.hrtime.bigint();
      const checked = authenticate(request);
      timesNs.push(Number(process.hrtime.bigint() - startNs));
      const [{ status }] = await Promise.allSettled([checked]);
      if (status === 'fulfilled') throw new Error('a guessed key was accepted');
    }
  }
  await keys.close();
  return { validNs: timeOf(likeValid), decoyNs: timeOf(likeDecoy) };
}

function timeOf(group: readonly Sample[]): number {
  return medianOf(group.flatMap(({ timesNs }) => timesNs));
}

function newSamples(secret: string, random: Random): Sample[] {
  return Array.from({ length: KEYS_PER_GROUP }, () => {
    const similar = newSimilarSecret(secret, SHARED_LENGTH, random);
    // Through a buffer, so that all texts have the same form in memory.
    const authorization = Buffer.from(`Bearer ${similar}`).toString('latin1');
    return { request: { headers: { authorization }, target: '/v1/pets' }, timesNs: [] };
  });
}

function shuffle(samples: Sample[], random: Random): void {
  for (let index = samples.length - 1; index > 0; index -= 1) {
    const other = random.integer(index + 1);
    const sample = samples[index] as Sample;
    samples[index] = samples[other] as Sample;
    samples[other] = sample;
  }
}

function medianOf(numbers: readonly number[]): number {
  return numbers.toSorted((left, right) => left - right)[numbers.length >> 1] ?? 0;
}

/** The statistic of the signed-rank test, as a multiple of its standard deviation. */
export function signedRank(differences: readonly number[]): number {
  const bySize = differences.toSorted((left, right) => Math.abs(left) - Math.abs(right));
  const sum = bySize.reduce((total, each, index) => total + Math.sign(each) * (index + 1), 0);
  const count = differences.length;
  return sum / Math.sqrt((count * (count + 1) * (2 * count + 1)) / 6);
}

/** Compares character by character up to the first difference, as a careless service would. */
export const careless: Wrap = (authenticate, secret) => {
  const known = secret.split('');
  return async (request) => {
    const given = (request.headers.authorization ?? '').slice('Bearer '.length).split('');
    let same = 0;
    for (const [index, character] of known.entries()) {
      if (character !== given[index]) break;
      same += 1;
    }
    if (same === known.length) throw new Error('this key is not among the guesses');
    return authenticate(request);
  };
};
