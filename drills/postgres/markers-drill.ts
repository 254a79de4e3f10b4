import { PostgresServer } from '../../test/support/postgres-server.ts';
import type { Connection } from '../../src/storage/postgres/connection.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { drillMarkers, openMixedUp } from './markers.ts';

export const drill: Drill = {
  purpose:
    'Each query of an overloaded pool selects its own number, and some callers give up: no response reaches the wrong caller.',
  unit: 'queries',
  rounds: 1_000_000,
  quickRounds: 20_000,
  run: (options) => run(options),
  control: {
    brokenBy: 'a connection that stays in use after its caller gave up',
    run: (options) => run(options, openMixedUp),
  },
};

async function run(
  { rounds, onProgress }: DrillOptions,
  open?: (url: string) => Promise<Connection>,
): Promise<DrillReport> {
  onProgress(`${rounds} queries`);
  const server = await PostgresServer.start({ isDurable: true });
  try {
    const { responses, givenUp, wrong } = await drillMarkers({
      url: server.url(),
      queries: rounds,
      ...(open && { open }),
    });
    return {
      passed: responses - wrong,
      violations: wrong === 0 ? [] : [`${wrong} rows reached the wrong caller`],
      figures: { responses, 'callers that gave up': givenUp, 'wrong responses': wrong },
    };
  } finally {
    await server.close();
  }
}
