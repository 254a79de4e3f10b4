import { bytesOf, type HttpResponse } from '../message.ts';
import { STATUS_CODES } from './node-http.ts';

/** A name must be a token. A value may have only visible ASCII characters, spaces and tabs. */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const NOT_IN_VALUE = /[^\t\x20-\x7e]/;

/**
 * Encodes a response, and says how it is encoded. After the last one the connection closes. Throws if a header is
 * invalid.
 *
 * `writeHead` and `end` would check and join the headers again for every response; docs/decisions.md has what that costs.
 * They would also be a second writer: a refusal of bytes that are no request, and the last response of a connection, after
 * which node:http would reset a client that is still sending, have to be encoded here in any case.
 */
export function encodeResponse(
  response: HttpResponse,
  { method, isLast }: { method?: string | undefined; isLast: boolean },
): [text: string, encoding: 'latin1' | 'utf8'] {
  const { status, headers, moreHeaders = [], body } = response;
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${linesOf(headers)}`;
  for (const more of moreHeaders) head += linesOf(more);
  const length = bytesOf(response);
  // These two never have a body.
  if (status !== 204 && status !== 304) head += `Content-Length: ${length}\r\n`;
  head += `X-Content-Type-Options: nosniff\r\nDate: ${dateNow()}\r\nConnection: ${isLast ? 'close' : 'keep-alive'}\r\n\r\n`;
  if (method === 'HEAD') return [head, 'latin1'];
  // ASCII has as many bytes as characters, and is sent without conversion.
  return [head + body, length === body.length ? 'latin1' : 'utf8'];
}

/** The lines of frozen lists, which are sent again and again. */
const kept = new WeakMap<readonly string[], string>();

/** Throws if a header contains a line break or another forbidden character. */
function linesOf(headers: readonly string[]): string {
  const known = kept.get(headers);
  if (known !== undefined) return known;
  let lines = '';
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? '';
    const value = headers[index + 1] ?? '';
    if (!NAME.test(name) || NOT_IN_VALUE.test(value)) {
      throw new TypeError(`invalid response header ${JSON.stringify(`${name}: ${value}`)}`);
    }
    lines += `${name}: ${value}\r\n`;
  }
  if (Object.isFrozen(headers)) kept.set(headers, lines);
  return lines;
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
