import type { Drill } from '../drill.ts';
import { PostgresServer } from '../../test/support/postgres-server.ts';
import { drill as newer, runChanges } from './drill.ts';
import { checkOut, isInHistory } from './older-version.ts';

export const drill: Drill = {
  ...newer,
  purpose: `The drill "catalogue" on PostgreSQL, with one process of version 1.0.0 beside one of this version.`,
  rounds: 16,
  findMissing: () =>
    isInHistory('1.0.0') ? undefined : 'version 1.0.0 is not in the history of this clone',
  async run(options) {
    const server = await PostgresServer.start({ isDurable: true });
    try {
      const olderMain = checkOut('1.0.0', { isServing: true });
      return await runChanges(options, { database: server.url(), olderMain });
    } finally {
      await server.close();
    }
  },
};
