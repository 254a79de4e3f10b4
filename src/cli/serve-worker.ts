import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { FAILED_GRACE_MS, startService, type Runtime } from '../service.ts';
import { Primary } from './worker-channel.ts';

/** The longest a worker waits for the others to close before it drains: one of them may hang. */
const DRAIN_DELAY_MS_MAX = 1_000;

/** Responds to requests on the listener of the primary, until the primary tells it to stop. */
export async function serveAsWorker(config: Config, runtime: Runtime): Promise<number> {
  // Only the primary acts on a signal to the process group.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
  const primary = new Primary();
  try {
    const service = await startService(
      { ...config, adminPort: undefined },
      {
        ...runtime,
        beforeListening: () => primary.ask('listen'),
        takePortion: (keyId) => primary.takePortion(keyId),
      },
    );
    const { Reporter } = await import('../ops/exposition.ts');
    const reporter = new Reporter(service.figures, (report) => primary.tell({ report }));
    primary.onReport = () => void reporter.report(true);
    primary.onNotReady = () => service.setNotReady();
    void primary.tell({ ready: { baseUrl: service.baseUrl } });
    const failure = await Promise.race([service.failed, primary.stopped]);
    if (failure !== undefined) {
      // The primary writes the reason, once for all workers.
      void primary.tell({ failed: failure });
      await service.close(FAILED_GRACE_MS);
      return 1;
    }
    await service.stopListening();
    await Promise.race([primary.ask('drain'), sleep(DRAIN_DELAY_MS_MAX)]);
    await service.close();
    await reporter.end();
    return 0;
  } finally {
    // The channel to the primary would keep the process alive.
    process.channel?.unref();
  }
}
