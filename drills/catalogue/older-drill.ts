import { spawnSync } from 'node:child_process';
import type { Drill } from '../drill.ts';
import { PostgresServer } from '../../test/postgres-server.ts';
import { drill as newer, runChanges } from './drill.ts';
import { checkOut } from './older-version.ts';

/** The last commit of version 1.0.0. */
const OLDER_COMMIT = 'f16e9e2';

export const drill: Drill = {
  ...newer,
  purpose: `The drill "catalogue" on PostgreSQL, with one process of version 1.0.0 beside one of this version.`,
  rounds: 16,
  findMissing() {
    const found = spawnSync('git', ['cat-file', '-e', `${OLDER_COMMIT}^{commit}`], {
      cwd: import.meta.dirname,
    });
    return found.status === 0 ? undefined : `this copy has no commit ${OLDER_COMMIT}`;
  },
  async run(options) {
    const server = await PostgresServer.start({ isDurable: true });
    try {
      const olderMain = checkOut(OLDER_COMMIT);
      return await runChanges(options, { database: server.url(), olderMain });
    } finally {
      await server.close();
    }
  },
};
