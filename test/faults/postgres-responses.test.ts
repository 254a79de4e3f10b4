// Each query of an overloaded pool selects its own number, and some callers give up.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, types } from 'pg';
import { deadlineIn } from '../../src/storage/deadline.ts';
import { parseAddress } from '../../src/storage/postgres/address.ts';
import type { Row, Statement } from '../../src/storage/postgres/connection.ts';
import { Hosts } from '../../src/storage/postgres/hosts.ts';
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
  responses: number;
  givenUp: number;
  wrong: number;
}

/** Sends a query that selects the marker, and gives some of them up early. */
type Select = (marker: bigint, timeoutMs: number) => Promise<Row | undefined>;

test('no response of an overloaded pool reaches the wrong caller, and a pool that mixes them up would be found', async () => {
  const server = await PostgresServer.start();
  const pool = new Pool(new Hosts(parseAddress(server.url())), CONNECTIONS);
  const mixedUp = await openMixedUp(server.url());
  try {
    const real = await sendMarkers((marker) => select(pool, marker), TIMEOUT_MS);
    assert.equal(real.wrong, 0);
    assert.ok(real.givenUp > 0, 'some callers must give up before their response arrives');
    const broken = await sendMarkers(mixedUp.select, BROKEN_TIMEOUT_MS);
    assert.ok(broken.wrong > 0);
  } finally {
    await Promise.all([pool.close(), mixedUp.close()]);
    await server.close();
  }
});

/** Sends queries that each select a unique number, and counts the responses with a wrong number. */
async function sendMarkers(send: Select, timeoutMs: number): Promise<MarkersReport> {
  const report = { responses: 0, givenUp: 0, wrong: 0 };
  let next = 0n;
  const caller = async () => {
    while (next < QUERIES) {
      next += 1n;
      const marker = next;
      try {
        const row = await send(marker, timeoutMs);
        report.responses += 1;
        if (row?.[0] !== marker) report.wrong += 1;
      } catch {
        report.givenUp += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return report;
}

const isLate = (marker: bigint) => marker % BigInt(LATE_EVERY) === 0n;

/** The deadline of a late query starts when it has its connection, so it always ends before the response. */
async function select(pool: Pool, marker: bigint): Promise<Row | undefined> {
  const deadline = deadlineIn(TIMEOUT_MS);
  const [row] = isLate(marker)
    ? await pool.run(deadline, (connection) =>
        connection.query(LATE, [marker], deadlineIn(LATE_TIMEOUT_MS)),
      )
    : await pool.query(MARKER, [marker], deadline);
  return row;
}

/**
 * The control: connections with the fault that the test must detect. They stay in use after a caller gives up, and
 * the late response goes to the next caller.
 */
async function openMixedUp(url: string) {
  const all = await Promise.all(Array.from({ length: CONNECTIONS }, () => openOne(url)));
  const selectMixedUp: Select = (marker, timeoutMs) => {
    const one = all[Number(marker) % all.length];
    return new Promise((resolve, reject) => {
      one?.callers.push(resolve);
      const giveUp = () => {
        one?.callers.splice(one.callers.indexOf(resolve), 1);
        reject(new Error('no response in time'));
      };
      const timer = setTimeout(giveUp, isLate(marker) ? LATE_TIMEOUT_MS : timeoutMs);
      const respond = (row: Row | undefined) => {
        clearTimeout(timer);
        one?.callers.shift()?.(row);
      };
      // Queries that still wait when the connection is closed get no response.
      one?.send(isLate(marker) ? LATE : MARKER, marker).then(respond, () => undefined);
    });
  };
  return {
    select: selectMixedUp,
    close: () => Promise.all(all.map(({ client }) => client.end())),
  };
}

async function openOne(url: string) {
  const client = new Client({ connectionString: url });
  client.setTypeParser(types.builtins.INT8, BigInt);
  await client.connect();
  const callers: ((row: Row | undefined) => void)[] = [];
  let before: Promise<Row | undefined> = Promise.resolve(undefined);
  const send = ({ name, text }: Statement, marker: bigint) => {
    before = before.then(async () => {
      const { rows } = await client.query<Row>({
        name,
        text,
        values: [marker],
        rowMode: 'array',
      });
      return rows[0];
    });
    return before;
  };
  return { client, callers, send };
}
