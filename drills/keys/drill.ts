import { randomBytes } from 'node:crypto';
import { newSecret } from '../../src/domain/api-key.ts';
import { PostgresServer } from '../../test/support/postgres-server.ts';
import {
  sqliteStorage,
  startTestService,
  type TestStorage,
} from '../../test/support/test-service.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { newRandom } from '../random.ts';
import { guessKeys, GUESSES, type KnownKeys } from './guesses.ts';
import { findDifferentRefusals } from './refusals.ts';
import { findTimingViolations, type Wrap } from './timing.ts';

const SHOWN_EVERY = 1_000;
const LONG_AGO = new Date('2020-01-01T00:00:00Z');
/** One pair of keys is timed per so many guesses. */
const GUESSES_PER_PAIR = 200;
const PAIRS_MIN = 40;

export const drill: Drill = {
  purpose:
    'Guessed keys: none is accepted, the time of a refusal does not tell how much of a key is right, and all refusals are equal.',
  unit: 'guesses',
  rounds: 100_000,
  quickRounds: 1_000,
  run: drillKeys,
  control: {
    brokenBy: 'a valid key among the guesses, and a comparison character by character',
    run: runControl,
  },
};

async function drillKeys(options: DrillOptions): Promise<DrillReport> {
  const { rounds, seed } = options;
  const server = await PostgresServer.start();
  const database = {
    name: 'PostgreSQL',
    newDatabase: async () => ({
      flags: ['--database', server.url()],
      remove: async () => undefined,
    }),
  };
  try {
    const half = { ...options, rounds: rounds / 2 };
    const reports = [
      await guessOn(sqliteStorage, half, GUESSES),
      await guessOn(database, half, GUESSES),
    ];
    const pairs = Math.max(PAIRS_MIN, Math.floor(rounds / GUESSES_PER_PAIR));
    options.onProgress(`timing ${pairs} pairs of keys`);
    const { timing, violations } = await findTimingViolations({ pairs, random: newRandom(seed) });
    const sum = (name: 'guesses' | 'repeated' | 'compared') =>
      reports.reduce((total, report) => total + report[name], 0);
    return {
      passed: sum('guesses') + sum('compared') + 1,
      violations: [...reports.flatMap((report) => report.violations), ...violations],
      figures: {
        guesses: sum('guesses'),
        'kinds of guesses': Object.keys(GUESSES).length,
        'guesses repeated after 408 or 503': sum('repeated'),
        'refusals compared': sum('compared'),
        'pairs of keys timed': pairs,
        'a refusal, the difference (ns)': `${timing.refusalNs}, ${timing.differenceNs}`,
        'the difference in standard deviations': timing.z.toFixed(2),
      },
    };
  } finally {
    await server.close();
  }
}

/** Sends the guesses and compares the refusals, on one store. */
export async function guessOn(
  storage: TestStorage,
  { rounds, seed, onProgress }: DrillOptions,
  kinds: typeof GUESSES,
) {
  const service = await startTestService(storage, { logLevel: 'silent' });
  try {
    const keys: KnownKeys = {
      valid: service.key,
      revoked: await service.addKey({ revokedAt: LONG_AGO }),
      expired: await service.addKey({ expiresAt: LONG_AGO }),
    };
    const report = await guessKeys(service, keys, {
      guesses: rounds,
      random: newRandom(seed),
      kinds,
      onProgress: (guesses) => {
        if (guesses % SHOWN_EVERY === 0) onProgress(`${storage.name}: ${guesses} guesses`);
      },
    });
    const unknown = newSecret('production', randomBytes);
    const refusals = await findDifferentRefusals(service, { unknown, revoked: keys.revoked });
    const violations = [...report.violations, ...refusals.violations];
    return { ...report, compared: refusals.compared, violations };
  } finally {
    await service.close();
  }
}

/** Compares character by character up to the first difference, as a careless service would. */
export const careless: Wrap = (authenticate, secret) => {
  const known = secret.split('');
  return async (header) => {
    const given = (header ?? '').slice('Bearer '.length).split('');
    let same = 0;
    for (const [index, character] of known.entries()) {
      if (character !== given[index]) break;
      same += 1;
    }
    if (same === known.length) throw new Error('this key is not among the guesses');
    return authenticate(header);
  };
};

async function runControl(options: DrillOptions): Promise<DrillReport> {
  const kinds = { 'a valid key': ({ valid }: KnownKeys) => valid };
  const guessed = await guessOn(sqliteStorage, { ...options, rounds: 10 }, kinds);
  const random = newRandom(options.seed);
  const { violations } = await findTimingViolations({
    pairs: PAIRS_MIN,
    random,
    wrap: careless,
  });
  // Both must be found: one alone would hide that the other is not.
  const isFound = guessed.violations.length > 0 && violations.length > 0;
  return {
    passed: 0,
    violations: isFound ? [...guessed.violations, ...violations] : [],
    figures: {},
  };
}
