import type { IncomingMessage, ServerResponse } from 'node:http';
import { Refusal } from '../domain/errors.ts';

/** Emitted on a request, with a Refusal, when the rest of its body will not come or cannot be read. */
export const BODY_FAULT = Symbol('body fault');

/**
 * Receives a whole body. Asks a client that waits for `100 Continue` to go on only now. Whatever exceeds the
 * limit is read and dropped by node:http after the response, so that a client that is still sending hears it.
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  { bytesMax, expectsContinue }: { bytesMax: number; expectsContinue: boolean },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const tooLarge = () =>
      reject(new Refusal('body_too_large', `The body is over ${bytesMax} bytes.`));
    const cutShort = () =>
      reject(new Refusal('malformed_request', 'The body ended before it was complete.'));
    if (request.readableEnded) {
      resolve(Buffer.alloc(0));
      return;
    }
    // Its listeners would come too late to hear of it.
    if (request.destroyed) {
      cutShort();
      return;
    }
    if (Number(request.headers['content-length'] ?? 0) > bytesMax) {
      // Whether the client will send the body after all is not known, and so neither is where the next request begins.
      if (expectsContinue) response.shouldKeepAlive = false;
      tooLarge();
      return;
    }
    if (expectsContinue) response.writeContinue();

    const chunks: Buffer[] = [];
    let received = 0;
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received <= bytesMax) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      request.removeAllListeners('data').resume();
      tooLarge();
    });
    request.once('end', () =>
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)),
    );
    request.once('error', cutShort);
    request.once(BODY_FAULT, reject);
  });
}
