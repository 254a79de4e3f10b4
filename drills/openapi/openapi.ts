import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { newSecret } from '../../src/domain/api-key.ts';
import { PostgresServer } from '../../test/support/postgres-server.ts';
import {
  send,
  sqliteStorage,
  startTestService,
  type TestService,
  type TestStorage,
} from '../../test/support/test-service.ts';
import type { DrillOptions, DrillReport } from '../drill.ts';
import type { OpenApiDocument } from './document.ts';
import { requestSequences, type Caller, type Plan } from './requests.ts';
import { RequestFailed, Session } from './session.ts';

/** Cases on one store. A small catalogue has its last page within reach. */
const BATCH_CASES = 1_000;
const RATE_LIMIT = '200/1s';
const REMOVED = new Date('2030-12-05T00:00:00Z');
const EXPIRED = new Date('2020-01-01T00:00:00Z');

export interface OpenApiOptions extends DrillOptions {
  /** Only SQLite, because a PostgreSQL takes seconds to start. */
  isShort?: boolean;
  /** Puts something before the service, and returns its base URL. */
  alter?: (baseUrl: string) => Promise<{ baseUrl: string; close(): Promise<void> }>;
}

/** One batch of ten has a rate limit, and one of ten runs after the removal of getPet. */
export async function drillOpenApi(options: OpenApiOptions): Promise<DrillReport> {
  const { rounds, seed, onProgress, isShort = false } = options;
  const database = isShort ? undefined : await PostgresServer.start();
  const storages = [sqliteStorage, ...(database === undefined ? [] : [postgresOf(database)])];
  const totals = { requests: 0, statuses: new Map<number, number>() };
  const violations: string[] = [];
  let passed = 0;
  try {
    for (let batch = 0; passed < rounds && violations.length === 0; batch += 1) {
      const cases = Math.min(BATCH_CASES, rounds - passed);
      const storage = storages[batch % storages.length] ?? sqliteStorage;
      const kind = Math.floor(batch / storages.length) % 10;
      const flags = kind === 1 ? ['--rate-limit', RATE_LIMIT] : [];
      const now = kind === 2 ? REMOVED : undefined;
      const batchSeed = (seed + batch) % 2 ** 31;
      const found = await runBatch(
        storage,
        { ...options, cases, seed: batchSeed, flags, now },
        totals,
      );
      if (found === undefined) passed += cases;
      else violations.push(`${storage.name}, batch ${batch}: ${found}`);
      onProgress(`${passed} of ${rounds} cases`);
    }
  } finally {
    await database?.close();
  }
  const statuses = [...totals.statuses].toSorted(([left], [right]) => left - right);
  return {
    passed,
    violations,
    figures: {
      requests: totals.requests,
      'responses by status': statuses.map(([status, count]) => `${status}: ${count}`).join(', '),
    },
  };
}

function postgresOf(server: PostgresServer): TestStorage {
  return {
    name: 'PostgreSQL',
    async newDatabase() {
      const database = await server.createDatabase();
      const remove = async () => void (await server.query(`DROP DATABASE ${database}`));
      return { flags: ['--database', server.url(database)], remove };
    },
  };
}

/** The document that the service serves. */
async function readDocument({ baseUrl }: TestService): Promise<OpenApiDocument> {
  const { json } = await send(`${new URL(baseUrl).origin}/openapi.json`);
  return json() as OpenApiDocument;
}

interface BatchOptions extends OpenApiOptions {
  cases: number;
  flags: string[];
  now: Date | undefined;
}

/** Returns the smallest failing case, if there is one. */
async function runBatch(
  storage: TestStorage,
  { alter, cases, seed, flags, now }: BatchOptions,
  totals: { requests: number; statuses: Map<number, number> },
): Promise<string | undefined> {
  const options = { flags, logLevel: 'silent' as const, ...(now && { now }) };
  const service = await startTestService(storage, options);
  const altered = await alter?.(service.baseUrl);
  const document = await readDocument(service);
  const baseUrl = altered?.baseUrl ?? service.baseUrl;
  const session = new Session({
    document,
    baseUrl,
    keys: await keysOf(service),
    isRemoved: now !== undefined,
    isRateLimited: flags.length > 0,
  });
  try {
    const property = fc.asyncProperty(requestSequences(document), (plans) => session.run(plans));
    const details = await fc.check(property, {
      numRuns: cases,
      seed,
      // The control fails on purpose, and shrinking its cases takes longer than finding them.
      endOnFailure: alter !== undefined,
    });
    return details.failed ? describe(details) : undefined;
  } finally {
    session.close();
    await altered?.close();
    await service.close();
    totals.requests += session.requests;
    for (const [status, count] of session.statuses) {
      totals.statuses.set(status, (totals.statuses.get(status) ?? 0) + count);
    }
  }
}

function describe(details: fc.RunDetails<[Plan[]]>): string {
  const { seed, counterexample, errorInstance, numShrinks } = details;
  const [plans = []] = counterexample ?? [];
  const sent =
    errorInstance instanceof RequestFailed ? plans.slice(0, errorInstance.index + 1) : plans;
  const fault = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  return `${fault}; seed ${seed}, case after ${numShrinks} shrinks ${JSON.stringify(sent)}`;
}

async function keysOf(service: TestService): Promise<Record<Caller, string | undefined>> {
  return {
    'both scopes': service.key,
    'pets:read': await service.addKey({ scopes: ['pets:read'] }),
    'pets:write': await service.addKey({ scopes: ['pets:write'] }),
    expired: await service.addKey({ expiresAt: EXPIRED }),
    revoked: await service.addKey({ revokedAt: EXPIRED }),
    unknown: newSecret('production', randomBytes),
    'other environment': newSecret('staging', randomBytes),
    malformed: 'pet_live_0',
    none: undefined,
  };
}
