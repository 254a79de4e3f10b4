// Short runs of drills/catalogue. `npm run drill catalogue` is the long one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drillChanges, type ChangesOptions } from './changes.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { runHere } from '../../harness/command.ts';

/**
 * The fourth command removes animals, and the fifth is refused. They run in this process, which is another one than
 * the service.
 */
const SHORT: ChangesOptions = {
  commands: 5,
  seed: 1,
  processes: 1,
  readers: 4,
  creators: 1,
  async runCommand(args, ids) {
    const { code, stderr } = await runHere(['catalogue', ...args, ...ids]);
    return { code: code ?? -1, said: stderr };
  },
};

async function drill(database?: string): Promise<void> {
  const report = await drillChanges({ ...SHORT, database });
  // A broken store causes thousands of them, and the difference of two long lists takes minutes.
  assert.deepEqual(report.violations.slice(0, 5), []);
  assert.ok(report.checkedReads > 0 && report.walks > 0);
}

test('SQLite: once a catalogue command has returned, no read is stale, no id is given again, and no walk misses an animal', () =>
  drill());

test('PostgreSQL: once a catalogue command has returned, no read is stale, no id is given again, and no walk misses an animal', async () => {
  const server = await PostgresServer.start({ isDurable: false });
  try {
    await drill(server.url());
  } finally {
    await server.close();
  }
});
