// Breaks the limits of memory: every chunk of every body stays in memory, as in a server that collects them in a list.

import type { IncomingMessage } from 'node:http';
import { intercept } from './intercept.ts';

const kept: unknown[] = [];
intercept((event, [request]) => {
  if (event !== 'request') return false;
  const received = request as IncomingMessage;
  const push = received.push.bind(received);
  received.push = (chunk: unknown) => {
    kept.push(chunk);
    return push(chunk);
  };
  return false;
});
