import type { Drill } from '../drill.ts';
import { PostgresServer } from '../../test/postgres-server.ts';
import { drill as newer, runChanges } from './drill.ts';
import { checkOut, isInHistory, VERSION_1_0_0 } from './older-version.ts';

export const drill: Drill = {
  ...newer,
  purpose: `The drill "catalogue" on PostgreSQL, with one process of version 1.0.0 beside one of this version.`,
  rounds: 16,
  findMissing: () =>
    isInHistory(VERSION_1_0_0) ? undefined : `this copy has no commit ${VERSION_1_0_0}`,
  async run(options) {
    const server = await PostgresServer.start({ isDurable: true });
    try {
      const olderMain = checkOut(VERSION_1_0_0, { isServing: true });
      return await runChanges(options, { database: server.url(), olderMain });
    } finally {
      await server.close();
    }
  },
};
