// Breaks the limits of time: a client may take as long as it likes to send its request.

import { intercept } from './intercept.ts';

intercept((_event, _args, server) => {
  server.headersTimeout = 0;
  server.requestTimeout = 0;
  return false;
});
