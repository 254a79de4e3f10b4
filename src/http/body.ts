import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Refusal } from '../domain/errors.ts';
import { parseJson } from '../domain/json.ts';
import { JSON_MEDIA_TYPE, type HttpRequest } from './message.ts';

export const BODY_BYTES_MAX = 64 * 1024;

/** Reads the JSON body of a request: 415 before 413 before 400, and nothing is read for a 415. */
export async function readJsonBody(request: HttpRequest): Promise<unknown> {
  refuseMediaType(request);
  const bytes = await request.readBody(BODY_BYTES_MAX);
  if (bytes.length === 0) {
    throw new Refusal('invalid_json', 'The body is empty; it must be a JSON object.');
  }
  if (!isUtf8(bytes)) throw new Refusal('invalid_json', 'The body is not valid UTF-8.');
  return parseJson(bytes.toString());
}

function refuseMediaType({ headers }: HttpRequest): void {
  const type = headers['content-type'];
  if (type !== undefined && !isJson(type)) {
    throw new Refusal(
      'unsupported_media_type',
      `The body must be ${JSON_MEDIA_TYPE} in UTF-8; its Content-Type says otherwise.`,
    );
  }
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.trim().toLowerCase() !== 'identity') {
    throw new Refusal(
      'unsupported_media_type',
      'The body must be sent without a Content-Encoding; only identity is read.',
    );
  }
}

const MEDIA_TYPE = /^application\/json\s*(?:;(.*))?$/i;

function isJson(contentType: string): boolean {
  const parameters = MEDIA_TYPE.exec(contentType.trim());
  if (parameters === null) return false;
  return (parameters[1] ?? '').split(';').every((parameter) => {
    const [name = '', value = ''] = parameter.split('=');
    return name.trim().toLowerCase() !== 'charset' || /^\s*"?utf-?8"?\s*$/i.test(value);
  });
}

/** Why the rest of the body of a request cannot be read. Also the name of an event of the request. */
const BODY_FAULT = Symbol('body fault');

type ReceivedRequest = IncomingMessage & { [BODY_FAULT]?: Refusal };

/** Makes `readBody` of a request fail, whether it is called already or later. */
export function failBody(request: ReceivedRequest, refusal: Refusal): void {
  request[BODY_FAULT] ??= refusal;
  request.emit(BODY_FAULT, refusal);
}

/**
 * Receives a whole body. Sends `100 Continue` only now, to a client that waits for it. Bytes beyond the limit
 * are read and dropped, so that a client that is still sending receives the response.
 */
export function readBody(
  request: ReceivedRequest,
  response: ServerResponse,
  { bytesMax, expectsContinue }: { bytesMax: number; expectsContinue: boolean },
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const tooLarge = () =>
    reject(new Refusal('body_too_large', `The body is over ${bytesMax} bytes.`));
  const cutShort = () =>
    reject(new Refusal('malformed_request', 'The body ended before it was complete.'));
  if (request[BODY_FAULT] !== undefined) {
    reject(request[BODY_FAULT]);
  } else if (request.readableEnded) {
    resolve(Buffer.alloc(0));
  } else if (request.destroyed) {
    // The request was aborted during the checks, before there was a listener.
    cutShort();
  } else if (Number(request.headers['content-length'] ?? 0) > bytesMax) {
    // The client may or may not send the body now, so it is unknown where the next request begins.
    if (expectsContinue) response.shouldKeepAlive = false;
    tooLarge();
  } else {
    if (expectsContinue) response.writeContinue();
    const chunks: Buffer[] = [];
    let received = 0;
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received <= bytesMax) {
        chunks.push(chunk);
        return;
      }
      request.removeAllListeners('data').resume();
      tooLarge();
    });
    request.once('end', () =>
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)),
    );
    request.once('error', cutShort);
    request.once(BODY_FAULT, reject);
    // Node.js frees a closed socket late, and this request with it, but the body must not wait for that.
    promise.catch(() => (chunks.length = 0));
  }
  return promise;
}
