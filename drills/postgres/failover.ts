import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../src/domain/store.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import { PostgresServer, TEST_PASSWORD } from '../../test/postgres-server.ts';
import { createDrillKey } from './key.ts';
import { Load, type LoadReport } from './load.ts';

const CLIENTS = 20;
const CALM_MS = 500;
const RECOVERY_MS_MAX = 5_000;

export interface FailoverReport extends LoadReport {
  /** From the promotion of the standby to the first create it acknowledged. */
  recoveryMs: number;
}

/**
 * Two nodes, every commit on both. The primary dies under load and the standby takes its place: the
 * same process goes on there, and whatever was acknowledged is there too.
 */
export async function drillFailover(options: { isDurable: boolean }): Promise<FailoverReport> {
  const primary = await PostgresServer.start({ isDurable: options.isDurable });
  const servers = [primary];
  let store: Store | undefined;
  try {
    const standby = await PostgresServer.startStandby(primary);
    servers.push(standby);
    const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
    store = await openPostgresStore(`postgres://petstore:${TEST_PASSWORD}@${hosts}/postgres`);
    const load = new Load(store, await createDrillKey(store));
    load.start(CLIENTS);
    await sleep(CALM_MS);
    await primary.stop('immediate');
    await standby.query('SELECT pg_promote()');
    const recoveryMs = Math.round(await load.untilAcknowledged(RECOVERY_MS_MAX));
    await sleep(CALM_MS);
    await load.stop();
    return { ...(await load.check()), recoveryMs };
  } finally {
    await store?.close();
    for (const server of servers) await server.close();
  }
}
