import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Address, Host } from './address.ts';
import { openClient, ReadOnlyServer } from './connection.ts';
import { stateOf } from './faults.ts';

const QUERY_TIMEOUT_MS = 2_000;
/** A notification takes milliseconds. Waited for in full only where the answer is going to be no. */
const NOTIFICATION_TIMEOUT_MS = 3_000;
const READ_ONLY = '25006';

/** A pooler whose connections change their session between one transaction and the next. */
export class SharedSessions extends Error {
  constructor() {
    super('its connections share sessions');
    this.name = 'SharedSessions';
  }
}

/**
 * Throws where a connection has no session of its own, as behind PgBouncer with `pool_mode = transaction`
 * or `statement`: what a session was set to would be lost, durability among it.
 *
 * Comparing sessions between statements would find that only by luck, because an idle pooler gives the
 * same one again. A notification finds it every time: an idle connection receives one only while a session
 * belongs to it.
 */
export async function requireOwnSession(address: Address, host: Host): Promise<void> {
  const clients: Client[] = [];
  const open = async (): Promise<Client> => {
    const client = await openClient(address, host, QUERY_TIMEOUT_MS);
    clients.push(client);
    return client;
  };
  try {
    const listener = await open();
    const session = await sessionOf(listener);
    // PostgreSQL names its process when a connection begins; a pooler makes a number up.
    if (session === (listener as unknown as { processID: number | null }).processID) return;
    const notifier = await open();
    if (session === (await sessionOf(notifier))) throw new SharedSessions();
    if (!(await receives(listener, notifier, `petstore_${session}`))) throw new SharedSessions();
  } finally {
    for (const client of clients) void client.end();
  }
}

async function sessionOf(client: Client): Promise<number | undefined> {
  const { rows } = await client.query<[number]>({
    text: 'SELECT pg_backend_pid()',
    rowMode: 'array',
  });
  return rows[0]?.[0];
}

async function receives(listener: Client, notifier: Client, channel: string): Promise<boolean> {
  const { promise: received, resolve } = Promise.withResolvers<boolean>();
  listener.on('notification', () => resolve(true));
  try {
    await listener.query(`LISTEN ${channel}`);
  } catch (error) {
    if (stateOf(error) === READ_ONLY) throw new ReadOnlyServer();
    // Another engine, which has no notifications: that its sessions differ is all it can show.
    if (stateOf(error) !== undefined) return true;
    throw error;
  }
  // No standby needs to know of it, and one that is away must not hold up the start.
  await notifier.query(
    `SELECT set_config('synchronous_commit', 'local', true), pg_notify('${channel}', '')`,
  );
  return Promise.race([received, sleep(NOTIFICATION_TIMEOUT_MS, false, { ref: false })]);
}
