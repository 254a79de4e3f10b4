// Breaks the service on any store: one create in twenty is acknowledged with a new id, and not stored.

import { IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { intercept } from './intercept.ts';

const FORGOTTEN_EVERY = 20;
/** Far above every id that a drill is given. */
const FIRST_ID = 1_000_000_000;

let creates = 0;
intercept((event, args) => {
  const [request, response] = args as [IncomingMessage, ServerResponse];
  const isCreate = event === 'request' && request.method === 'POST';
  if (!isCreate || (creates += 1) % FORGOTTEN_EVERY !== 0) return false;
  void acknowledge(request, response, FIRST_ID + creates);
  return true;
});

async function acknowledge(
  request: IncomingMessage,
  response: ServerResponse,
  id: number,
): Promise<void> {
  // The service receives bodies without the events of a stream, which are needed here.
  request.push = Reflect.get(IncomingMessage.prototype, 'push');
  const pet = (await json(request)) as object;
  response.writeHead(201, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ id, ...pet, status: 'available' }));
}
