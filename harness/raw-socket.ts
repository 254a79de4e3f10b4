import { connect } from 'node:net';

export interface RawResponse {
  status: number;
  head: string;
  body: string;
}

const RAW_TIMEOUT_MS = 20_000;
const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) /;

/**
 * Writes bytes to a connection, piece by piece. Returns what was received until the service closed the
 * connection, or until `responsesMax` complete responses had arrived.
 */
export function exchange(
  port: number,
  pieces: readonly (string | Buffer)[],
  { responsesMax = Number.POSITIVE_INFINITY, end = false } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    const finish = () => {
      socket.destroy();
      resolve(received);
    };
    socket.setTimeout(RAW_TIMEOUT_MS, () => {
      socket.destroy();
      reject(new Error('the connection stayed open without a byte for 20 seconds'));
    });
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (parseResponses(received).length >= responsesMax) finish();
    });
    socket.on('close', finish);
    // A reset after the response counts as a close.
    socket.on('error', finish);
    socket.on('connect', () => {
      for (const piece of pieces) socket.write(piece);
      if (end) socket.end();
    });
  });
}

/** The fields of a head, by their names in small letters. */
export function headersOf(head: string): Record<string, string> {
  const [, ...fields] = head.split('\r\n');
  const pairs = fields.map((field) => field.split(/: (.*)/s));
  return Object.fromEntries(pairs.map(([name = '', value = '']) => [name.toLowerCase(), value]));
}

/** Parses the complete responses in the received bytes. Throws if the bytes are not a response. */
export function parseResponses(received: string): RawResponse[] {
  const { responses, rest } = splitResponses(received);
  if (rest.includes('\r\n\r\n') && !STATUS_LINE.test(rest)) {
    throw new Error(`not a response: ${rest.slice(0, 80)}`);
  }
  return responses;
}

/** The complete responses, and the bytes after them. */
export function splitResponses(received: string): { responses: RawResponse[]; rest: string } {
  const responses: RawResponse[] = [];
  let rest = received;
  for (;;) {
    const headEnd = rest.indexOf('\r\n\r\n');
    const head = rest.slice(0, Math.max(0, headEnd));
    const status = Number(STATUS_LINE.exec(head)?.[1]);
    if (Number.isNaN(status)) return { responses, rest };
    const hasBody = status >= 200 && status !== 204 && status !== 304;
    const length = hasBody ? Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0) : 0;
    const end = headEnd + 4 + length;
    if (rest.length < end) return { responses, rest };
    responses.push({ status, head, body: rest.slice(headEnd + 4, end) });
    rest = rest.slice(end);
  }
}
