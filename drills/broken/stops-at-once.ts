// Breaks the end of a worker: it does not wait for the requests that it has received.

import cluster from 'node:cluster';
import { STOP } from '../../src/cli/worker-messages.ts';

if (cluster.isWorker) process.on('message', (message) => message === STOP && process.exit(0));
