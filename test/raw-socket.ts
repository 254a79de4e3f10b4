import { connect } from 'node:net';

export interface RawAnswer {
  status: number;
  head: string;
  body: string;
}

const RAW_TIMEOUT_MS = 20_000;

/**
 * Writes bytes to a connection, piece by piece, and collects what comes back until the other side closes,
 * or until `answersMax` whole answers have arrived.
 */
export function exchange(
  port: number,
  pieces: readonly (string | Buffer)[],
  { answersMax = Number.POSITIVE_INFINITY, end = false } = {},
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
      reject(new Error('the connection stayed open in silence'));
    });
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (parseAnswers(received).length >= answersMax) finish();
    });
    socket.on('close', finish);
    // A reset after the answer is as good as a close.
    socket.on('error', finish);
    socket.on('connect', () => {
      for (const piece of pieces) socket.write(piece);
      if (end) socket.end();
    });
  });
}

/** The whole answers in what a connection has sent; throws where the bytes are no answer. */
export function parseAnswers(received: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = received;
  while (rest !== '') {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd === -1) return answers;
    const head = rest.slice(0, headEnd);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    if (Number.isNaN(status)) throw new Error(`not an answer: ${rest.slice(0, 80)}`);
    const length = status < 200 ? 0 : Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    if (rest.length < headEnd + 4 + length) return answers;
    answers.push({ status, head, body: rest.slice(headEnd + 4, headEnd + 4 + length) });
    rest = rest.slice(headEnd + 4 + length);
  }
  return answers;
}
