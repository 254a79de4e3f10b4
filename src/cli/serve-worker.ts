import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { startService, type Runtime } from '../service.ts';
import { GO, NOT_READY, STOP, type WorkerMessage } from './worker-messages.ts';

/** The longest a worker waits for the others to close before it drains: one of them may hang. */
const DRAIN_DELAY_MS_MAX = 1_000;

/** Responds to requests on the listener of the primary, until the primary sends STOP. */
export async function serveAsWorker(config: Config, runtime: Runtime): Promise<number> {
  // Only the primary acts on a signal to the process group.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
  const primary = new Primary();
  try {
    const service = await startService(
      { ...config, adminPort: undefined },
      { ...runtime, beforeListening: () => primary.ask('listen') },
    );
    const { startReports } = await import('../ops/exposition.ts');
    const reports = startReports(service.figures);
    primary.onNotReady = () => service.setNotReady();
    primary.tell({ ready: { baseUrl: service.baseUrl } });
    const failure = await Promise.race([service.failed, primary.stopped]);
    if (failure !== undefined) {
      // The primary writes the reason, once for all workers.
      primary.tell({ failed: failure });
      await service.close();
      return 1;
    }
    await service.stopListening();
    await Promise.race([primary.ask('drain'), sleep(DRAIN_DELAY_MS_MAX)]);
    await service.close();
    await reports.end();
    return 0;
  } finally {
    // The channel to the primary would keep the process alive.
    process.channel?.unref();
  }
}

/** The messages between this worker and the primary. */
class Primary {
  onNotReady: (() => void) | undefined;
  readonly #stop = Promise.withResolvers<void>();
  #go = Promise.withResolvers<void>();

  constructor() {
    process.on('message', (message) => {
      if (message === STOP) this.#stop.resolve();
      if (message === GO) this.#go.resolve();
      if (message === NOT_READY) this.onNotReady?.();
    });
  }

  get stopped(): Promise<void> {
    return this.#stop.promise;
  }

  tell(message: WorkerMessage): void {
    process.send?.(message);
  }

  /** Resolves when the primary sends GO. */
  ask(what: 'listen' | 'drain'): Promise<void> {
    this.#go = Promise.withResolvers();
    this.tell({ ask: what });
    return this.#go.promise;
  }
}
