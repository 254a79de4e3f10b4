// Breaks the limits of memory: every chunk of every body stays in memory, as in a server that reads each into a buffer
// of its own and collects them in a list.

import type { IncomingMessage } from 'node:http';
import { intercept } from './intercept.ts';

const BUFFER_BYTES = 4 * 1024;

const kept: unknown[] = [];
intercept((event, [request]) => {
  if (event !== 'request') return false;
  const received = request as IncomingMessage;
  const push = received.push.bind(received);
  received.push = (chunk: unknown) => {
    kept.push(chunk, Buffer.alloc(BUFFER_BYTES));
    return push(chunk);
  };
  return false;
});
