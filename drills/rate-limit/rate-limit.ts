import { randomBytes } from 'node:crypto';
import { newApiKey, newSecret } from '../../src/domain/api-key.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import { PostgresServer } from '../../test/support/postgres-server.ts';
import { Client } from '../client.ts';
import { ServiceProcess } from '../service-process.ts';
import { newRandom } from '../random.ts';

const LIMIT = 200;
const CONCURRENCY = 8;
const DEVIATION_MAX = 0.05;
const PERCENT = 100;

export interface RateLimitReport {
  /** How many requests of each key were accepted. */
  accepted: number[];
  requests: number;
  violations: string[];
}

/**
 * Two processes, and a new key per round. Each round sends twice the limit, and the seed says which part of it
 * goes to the first process. With `isApart`, each process has a database, and so a limit, of its own.
 */
export async function drillRateLimit({
  rounds,
  seed,
  isApart,
  onProgress,
}: {
  rounds: number;
  seed: number;
  isApart: boolean;
  onProgress: (text: string) => void;
}): Promise<RateLimitReport> {
  const random = newRandom(seed);
  const server = await PostgresServer.start({ isDurable: true });
  const firstUrl = server.url(await server.createDatabase());
  const urls = [firstUrl, isApart ? server.url(await server.createDatabase()) : firstUrl];
  const services: ServiceProcess[] = [];
  const report: RateLimitReport = { accepted: [], requests: 0, violations: [] };
  try {
    for (const url of urls) {
      const flags = ['--database', url, '--rate-limit', `${LIMIT}/3600s`, '--log', 'error'];
      services.push(await ServiceProcess.start(flags, newSecret('production', randomBytes)));
    }
    const keys = await addKeys(new Set(urls), rounds);
    for (const [round, key] of keys.entries()) {
      const share = random.integer(PERCENT + 1);
      onProgress(`${round} of ${rounds} rounds`);
      const accepted = await sendAll(services, key, () => random.integer(PERCENT) < share);
      report.requests += 2 * LIMIT;
      report.accepted.push(accepted);
      if (accepted > LIMIT || accepted < LIMIT * (1 - DEVIATION_MAX)) {
        const text = `${accepted} of ${LIMIT} accepted, ${share} % of them sent to one process`;
        report.violations.push(`round ${round}: ${text}`);
      }
    }
  } finally {
    for (const service of services) report.violations.push(...(await service.stop()));
    await server.close();
  }
  return report;
}

/** Creates a key per round, the same in each database. */
async function addKeys(urls: ReadonlySet<string>, count: number): Promise<string[]> {
  const secrets = Array.from({ length: count }, () => newSecret('production', randomBytes));
  const keys = secrets.map((secret, index) =>
    newApiKey({ secret, name: `round ${index}`, now: new Date(), randomBytes }),
  );
  for (const url of urls) {
    const store = await openPostgresStore(url);
    for (const key of keys) await store.createApiKey(key);
    await store.close();
  }
  return secrets;
}

/** Sends twice the limit over a few connections, and returns how many were accepted. */
async function sendAll(
  services: readonly ServiceProcess[],
  key: string,
  isForFirst: () => boolean,
): Promise<number> {
  let sent = 0;
  let accepted = 0;
  const sender = async () => {
    const client = new Client(key);
    while (sent < 2 * LIMIT) {
      sent += 1;
      const service = services[isForFirst() ? 0 : 1];
      const { status } = await client.get(`${service?.baseUrl}/pets`);
      if (status === 200) accepted += 1;
      else if (status !== 429) throw new Error(`a list got ${status}`);
    }
    client.close();
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, sender));
  return accepted;
}
