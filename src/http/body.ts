import { isUtf8 } from 'node:buffer';
import { Refusal } from '../domain/errors.ts';
import { parseJson } from '../domain/json.ts';
import { IncomingMessage, JSON_MEDIA_TYPE, type HttpRequest } from './message.ts';

const BODY_BYTES_MAX = 64 * 1024;
/** node:http allocates memory for every chunk, however short it is. */
const BODY_CHUNKS_MAX = 4_096;

/** How much of a Content-Type an error message repeats. */
const TYPE_LENGTH_MAX = 60;
const BYTE_ORDER_MARK = '\uFEFF';

const EMPTY = Buffer.alloc(0);

/** Reads the JSON body of a request: 415 before 413 before 400, and nothing is read for a 415. */
export async function readJsonBody(request: HttpRequest): Promise<unknown> {
  refuseMediaType(request);
  const bytes = await request.readBody();
  if (bytes.length === 0) {
    throw new Refusal('invalid_json', 'The body is empty; it must be a JSON object.');
  }
  if (!isUtf8(bytes)) throw new Refusal('invalid_json', 'The body is not valid UTF-8.');
  const text = bytes.toString();
  if (text.startsWith(BYTE_ORDER_MARK)) {
    const fault = 'The body begins with a byte order mark (U+FEFF); send the JSON without it.';
    throw new Refusal('invalid_json', fault);
  }
  return parseJson(text);
}

function refuseMediaType({ headers }: HttpRequest): void {
  const type = headers['content-type'];
  if (type !== undefined && !isJson(type)) {
    const isForm = type.startsWith('application/x-www-form-urlencoded');
    const option = isForm ? `; with curl, add -H 'Content-Type: ${JSON_MEDIA_TYPE}'` : '';
    throw new Refusal(
      'unsupported_media_type',
      `The body must be ${JSON_MEDIA_TYPE} in UTF-8, not ${type.slice(0, TYPE_LENGTH_MAX)}${option}.`,
    );
  }
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new Refusal(
      'unsupported_media_type',
      'The body must be sent without a Content-Encoding; only identity is read.',
    );
  }
}

const MEDIA_TYPE = /^application\/json\s*(?:;(.*))?$/i;

function isJson(contentType: string): boolean {
  const parameters = MEDIA_TYPE.exec(contentType);
  if (parameters === null) return false;
  return (parameters[1] ?? '').split(';').every((parameter) => {
    const [name = '', value = ''] = parameter.split('=');
    return name.trim().toLowerCase() !== 'charset' || /^\s*"?utf-?8"?\s*$/i.test(value);
  });
}

export const CUT_SHORT = new Refusal('malformed_request', 'The body ended before it was complete.');
const TOO_LARGE = new Refusal(
  'body_too_large',
  `The body is over ${BODY_BYTES_MAX} bytes, or in over ${BODY_CHUNKS_MAX} chunks.`,
);

/**
 * A request whose body goes to `body` instead of the buffers and events of a stream, which cost as much as
 * parsing it: a body may have thousands of chunks.
 */
export class ReceivedRequest extends IncomingMessage {
  /** Undefined if it has none. */
  body: Body | undefined;

  /** Called by node:http with each chunk, and with null at the end. */
  override push(chunk: Buffer | null): boolean {
    this.body?.receive(chunk);
    return chunk === null ? super.push(null) : true;
  }
}

/** The body of a request. It is copied into one buffer as it arrives, also before the handler reads it. */
export class Body {
  readonly #onChange: () => void;
  #bytes: Buffer = EMPTY;
  #length = 0;
  #chunks = 0;
  #isWhole = false;
  /** Why it cannot be read. */
  #refusal: Refusal | undefined;
  /** The handler that waits for the rest of it. Most bodies are whole before they are read. */
  #reader: PromiseWithResolvers<Buffer> | undefined;

  /** `onChange` is called when it may occupy other memory, or when `isToBeReceived` may have changed. */
  constructor(contentLength: string | undefined, onChange: () => void) {
    this.#onChange = onChange;
    if (Number(contentLength ?? 0) > BODY_BYTES_MAX) this.fail(TOO_LARGE);
  }

  get occupiedBytes(): number {
    return this.#isWhole ? 0 : this.#bytes.length;
  }

  /** Whether more bytes are to be received. The first chunk usually arrives before the handler reads it. */
  get isToBeReceived(): boolean {
    return this.#refusal === undefined && (this.#reader !== undefined || this.#chunks <= 1);
  }

  /** Resolves when all of it has arrived. It is read once. */
  read(): Promise<Buffer> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal);
    if (this.#isWhole) return Promise.resolve(this.#take());
    this.#reader = Promise.withResolvers();
    this.#onChange();
    return this.#reader.promise;
  }

  /** Frees what has arrived. The rest is ignored. */
  fail(refusal: Refusal): void {
    this.#refusal = refusal;
    this.#bytes = EMPTY;
    this.#reader?.reject(refusal);
    this.#onChange();
  }

  /** Takes a chunk, or null after the last one. */
  receive(chunk: Buffer | null): void {
    if (this.#refusal !== undefined) return;
    if (chunk === null) {
      this.#isWhole = true;
      this.#reader?.resolve(this.#take());
    } else {
      this.#chunks += 1;
      const length = this.#length + chunk.length;
      if (length > BODY_BYTES_MAX || this.#chunks > BODY_CHUNKS_MAX) return this.fail(TOO_LARGE);
      if (this.#length === 0) this.#bytes = chunk;
      else this.#append(chunk, length);
      this.#length = length;
    }
    this.#onChange();
  }

  #take(): Buffer {
    const whole = this.#bytes.subarray(0, this.#length);
    this.#bytes = EMPTY;
    return whole;
  }

  #append(chunk: Buffer, length: number): void {
    if (length > this.#bytes.length) {
      const grown = Buffer.alloc(Math.min(2 * length, BODY_BYTES_MAX));
      this.#bytes.copy(grown);
      this.#bytes = grown;
    }
    chunk.copy(this.#bytes, this.#length);
  }
}
