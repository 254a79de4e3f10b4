import { sharedRefusal, type Refusal } from '../../domain/errors.ts';

const BODY_BYTES_MAX = 64 * 1024;
/** node:http allocates memory for every chunk, however short it is. */
const BODY_CHUNKS_MAX = 4_096;

const EMPTY = Buffer.alloc(0);

export const CUT_SHORT = sharedRefusal(
  'malformed_request',
  'The body ended before it was complete.',
);
/** The body of a request. It is copied into one buffer as it arrives, also before the handler reads it. */
export class Body {
  readonly #onChange: () => void;
  readonly #bytesMax: number;
  #bytes: Buffer = EMPTY;
  #length = 0;
  #chunks = 0;
  #isWhole = false;
  /** Why the body cannot be read. */
  #refusal: Refusal | undefined;
  /** The handler that waits for the rest. Most bodies are complete before they are read. */
  #reader: PromiseWithResolvers<Buffer> | undefined;

  /** `onChange` is called when its memory or `wantsMore` may have changed. */
  constructor(contentLength: string | undefined, onChange: () => void, bytesMax = BODY_BYTES_MAX) {
    this.#onChange = onChange;
    this.#bytesMax = bytesMax;
    if (Number(contentLength ?? 0) > bytesMax) this.#failTooLarge();
  }

  get occupiedBytes(): number {
    return this.#isWhole ? 0 : this.#bytes.length;
  }

  /** Whether more bytes are to be received. The first chunk usually arrives before the handler reads it. */
  get wantsMore(): boolean {
    if (this.#isWhole || this.#refusal !== undefined) return false;
    return this.#reader !== undefined || this.#chunks <= 1;
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
      if (length > this.#bytesMax || this.#chunks > BODY_CHUNKS_MAX) return this.#failTooLarge();
      if (this.#length === 0) this.#bytes = chunk;
      else this.#append(chunk, length);
      this.#length = length;
    }
    this.#onChange();
  }

  #failTooLarge(): void {
    const message = `The body is over ${this.#bytesMax} bytes, or in over ${BODY_CHUNKS_MAX} chunks.`;
    this.fail(sharedRefusal('body_too_large', message));
  }

  #take(): Buffer {
    const whole = this.#bytes.subarray(0, this.#length);
    this.#bytes = EMPTY;
    return whole;
  }

  #append(chunk: Buffer, length: number): void {
    if (length > this.#bytes.length) {
      const grown = Buffer.alloc(Math.min(2 * length, this.#bytesMax));
      this.#bytes.copy(grown);
      this.#bytes = grown;
    }
    chunk.copy(this.#bytes, this.#length);
  }
}
