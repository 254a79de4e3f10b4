// Breaks the primary: it starts a worker for each one that ends, beside the one that the pool starts.

import cluster from 'node:cluster';

if (cluster.isPrimary) cluster.on('exit', () => cluster.fork());
