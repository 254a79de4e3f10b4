import type { HttpResponse } from '../message.ts';
import { STATUS_CODES } from './node-http.ts';

/** How a response is sent. */
interface Framing {
  /** The method of the request. Undefined if it never became one. */
  method?: string | undefined;
  /** Whether the connection closes after it. */
  isLast: boolean;
}

/** A name that is a token, and a value of visible ASCII characters, spaces and tabs. */
const HEADER = /^[\w!#$%&'*+.^`|~-]+: [\t\x20-\x7e]*$/;

/**
 * A response as it is sent, and its encoding. The writer of node:http checks and joins the headers again for
 * every response, which took a tenth of the time of a list. Throws if a header could end before its line does.
 */
export function encodeResponse(
  { status, headers, body }: HttpResponse,
  { method, isLast }: Framing,
): [text: string, encoding: 'latin1' | 'utf8'] {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  for (let index = 0; index < headers.length; index += 2) {
    const line = `${headers[index]}: ${headers[index + 1]}`;
    if (!HEADER.test(line)) throw new TypeError(`invalid response header ${JSON.stringify(line)}`);
    head += `${line}\r\n`;
  }
  const length = Buffer.byteLength(body);
  // These two never have a body.
  if (status !== 204 && status !== 304) head += `Content-Length: ${length}\r\n`;
  head += `Date: ${dateNow()}\r\nConnection: ${isLast ? 'close' : 'keep-alive'}\r\n\r\n`;
  if (method === 'HEAD') return [head, 'latin1'];
  // ASCII has as many bytes as characters, and is sent without conversion.
  return [head + body, length === body.length ? 'latin1' : 'utf8'];
}

const now = { second: 0, date: '' };

/** The time for the header Date, which is formatted once per second. */
function dateNow(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== now.second) {
    now.second = second;
    now.date = new Date(second * 1000).toUTCString();
  }
  return now.date;
}
