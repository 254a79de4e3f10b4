import type { IncomingMessage, ServerResponse } from 'node:http';
import { Refusal } from '../domain/errors.ts';

/** A body over its limit is still read up to here, and dropped: a client in the middle of sending then
 * hears the refusal instead of a connection reset. */
const DROPPED_BYTES_MAX = 1024 * 1024;

/** Receives a whole body. Asks a client that waits for `100 Continue` to go on only now. */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  bytesMax: number,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const tooLarge = () =>
      reject(new Refusal('body_too_large', `The body is over ${bytesMax} bytes.`));
    const declared = Number(request.headers['content-length'] ?? 0);
    const waitsForContinue = request.headers.expect !== undefined;
    if (declared > DROPPED_BYTES_MAX || (declared > bytesMax && waitsForContinue)) {
      response.shouldKeepAlive = false;
      tooLarge();
      return;
    }
    if (waitsForContinue) response.writeContinue();
    if (request.readableEnded) {
      resolve(Buffer.alloc(0));
      return;
    }

    const chunks: Buffer[] = [];
    let received = 0;
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received <= bytesMax) {
        chunks.push(chunk);
      } else if (received > DROPPED_BYTES_MAX) {
        response.shouldKeepAlive = false;
        tooLarge();
      }
    });
    request.once('end', () => {
      if (received > bytesMax) tooLarge();
      else resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    });
    request.once('error', () => {
      reject(new Refusal('malformed_request', 'The body ended before it was complete.'));
    });
  });
}
