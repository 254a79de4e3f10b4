// Each query of an overloaded pool selects its own number, and some callers give up.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, types } from 'pg';
import { deadlineIn, timeLeftMs } from '../../src/storage/deadline.ts';
import { parseAddress } from '../../src/storage/postgres/address.ts';
import {
  openConnection,
  type Connection,
  type Row,
  type Statement,
} from '../../src/storage/postgres/connection.ts';
import { Pool } from '../../src/storage/postgres/pool.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';

const QUERIES = 3_000;
const CONNECTIONS = 4;
/** Far more callers than connections, so that other callers wait whenever a response arrives. */
const CALLERS = 100;
/** Every 500th query takes longer than its caller waits. */
const LATE_EVERY = 500;
const LATE_TIMEOUT_MS = 5;
const TIMEOUT_MS = 60_000;
/** Of the pool that mixes responses up: the last callers never get one. */
const BROKEN_TIMEOUT_MS = 3_000;

const MARKER: Statement = { name: 'marker', text: 'SELECT $1::bigint' };
const LATE: Statement = { name: 'late', text: 'SELECT $1::bigint, pg_sleep(0.03)' };

interface MarkersReport {
  queries: number;
  responses: number;
  givenUp: number;
  wrong: number;
}

test('no response of an overloaded pool reaches the wrong caller, and a pool that mixes them up would be found', async () => {
  const server = await PostgresServer.start();
  try {
    const real = await sendMarkers({ url: server.url(), queries: QUERIES });
    assert.equal(real.wrong, 0);
    assert.ok(real.givenUp > 0, 'some callers must give up before their response arrives');
    const broken = await sendMarkers({
      url: server.url(),
      queries: QUERIES,
      open: openMixedUp,
      timeoutMs: BROKEN_TIMEOUT_MS,
    });
    assert.ok(broken.wrong > 0);
  } finally {
    await server.close();
  }
});

/** Sends queries that each select a unique number, and counts the responses with a wrong number. */
async function sendMarkers(options: {
  url: string;
  queries: number;
  open?: (url: string) => Promise<Connection>;
  timeoutMs?: number;
}): Promise<MarkersReport> {
  const open = options.open ?? openReal;
  const pool = new Pool(() => open(options.url), CONNECTIONS);
  const report = { queries: options.queries, responses: 0, givenUp: 0, wrong: 0 };
  let next = 0n;
  const caller = async () => {
    while (next < options.queries) {
      next += 1n;
      const marker = next;
      try {
        const [row] = await select(pool, marker, options.timeoutMs ?? TIMEOUT_MS);
        report.responses += 1;
        if (row?.[0] !== marker) report.wrong += 1;
      } catch {
        report.givenUp += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  await pool.close();
  return report;
}

/** The deadline of a late query starts when it has its connection, so it always ends before the response. */
function select(pool: Pool, marker: bigint, timeoutMs: number): Promise<Row[]> {
  const deadline = deadlineIn(timeoutMs);
  if (marker % BigInt(LATE_EVERY) !== 0n) return pool.query(MARKER, [marker], deadline);
  return pool.run(deadline, (connection) =>
    connection.query(LATE, [marker], deadlineIn(LATE_TIMEOUT_MS)),
  );
}

async function openReal(url: string): Promise<Connection> {
  const address = parseAddress(url);
  const [host] = address.hosts;
  if (host === undefined) throw new Error('no host');
  return openConnection(address, host);
}

/**
 * The control: a connection with the fault that the drill must detect. It stays in use after a caller gives
 * up, and the late response goes to the next caller.
 */
async function openMixedUp(url: string): Promise<Connection> {
  const client = new Client({ connectionString: url });
  client.setTypeParser(types.builtins.INT8, BigInt);
  // The pool drops connections without closing them here. The server ends those when it stops, and without
  // a listener that error would end the process.
  client.on('error', () => undefined);
  await client.connect();
  let callers: { resolve: (rows: Row[]) => void }[] = [];
  let before: Promise<unknown> = Promise.resolve();
  return {
    query({ name, text }, values, deadline) {
      return new Promise((resolve, reject) => {
        const caller = { resolve };
        callers.push(caller);
        const timer = setTimeout(() => {
          callers = callers.filter((other) => other !== caller);
          reject(new Error('no response in time'));
        }, timeLeftMs(deadline));
        // Callers that never get a response must not keep the process alive after the drill.
        timer.unref();
        const respond = async () => {
          const { rows } = await client.query<Row>({ name, text, values, rowMode: 'array' });
          clearTimeout(timer);
          callers.shift()?.resolve(rows);
        };
        // Queries that still wait when the pool is closed never get a response.
        before = before.then(respond).catch(() => undefined);
      });
    },
    host: { host: client.host, port: client.port },
    isUsable: () => true,
    close: () => client.end(),
    destroy: () => undefined,
  };
}
