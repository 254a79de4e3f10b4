// Breaks the end of a worker: it does not wait for the requests that it has received.

import cluster from 'node:cluster';

if (cluster.isWorker) process.on('SIGUSR2', () => process.exit(0));
