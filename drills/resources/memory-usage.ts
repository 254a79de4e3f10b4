// Loaded into the service: when it gets SIGUSR2, it collects its garbage and writes where its memory is.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

process.on('SIGUSR2', () => {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  process.stderr.write(`memory ${JSON.stringify({ rss, heapTotal, heapUsed, external })}\n`);
});
