// Breaks the end of a worker: it goes on when its primary has ended.

import cluster from 'node:cluster';

if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
