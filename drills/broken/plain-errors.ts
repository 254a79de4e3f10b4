// Breaks the service below HTTP: what is not a request gets a plain text instead of an Error.

import type { Socket } from 'node:net';
import { intercept } from './intercept.ts';

intercept((event, args) => {
  if (event !== 'clientError') return false;
  (args[1] as Socket).end('HTTP/1.1 400 Bad Request\r\nContent-Length: 11\r\n\r\nBad Request');
  return true;
});
