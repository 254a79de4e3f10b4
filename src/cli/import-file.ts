import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, stat, unlink, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ImportProgress } from '../domain/store.ts';
import type { Columns } from '../pet-file/columns.ts';
import { markedEncoding, type Encoding } from '../pet-file/encoding.ts';
import {
  detectLayout,
  LAYOUT_BYTES,
  PetFileError,
  refuseSpreadsheet,
  type Layout,
} from '../pet-file/layout.ts';
import { newPetReader, type LineFault, type PetPiece } from '../pet-file/pet-reader.ts';

/** The file name that means standard input. */
const STANDARD_INPUT = '-';
/** Enough to recognise a byte order mark and a spreadsheet. */
const START_BYTES = 4;
/** Bytes per read. The animals of one read, about five thousand, are stored in one transaction. */
const READ_BYTES = 256 * 1024;
const CHANGED = 'The file has changed while it was read.';

/** A file as it was when it was opened. */
interface OpenedFile {
  handle: FileHandle;
  sizeBytes: number;
  modifiedNs: bigint;
}

/** A file whose whole content was checked. */
export interface CheckedFile extends OpenedFile {
  layout: Layout;
  /** SHA-256 of the content. */
  digest: string;
  animals: number;
  /** How many lines, or items of a JSON array, are invalid. */
  invalid: number;
}

/**
 * Opens a file as UTF-8. A file in another encoding, and one that can be read only once, such as standard
 * input, is copied to a temporary file first.
 */
export async function openInput(
  file: string,
  stdin: AsyncIterable<Uint8Array>,
  { encoding, signal }: { encoding: Encoding; signal: AbortSignal },
): Promise<FileHandle> {
  const handle = await openBytes(file, stdin, signal);
  try {
    const start = Buffer.alloc(START_BYTES);
    await handle.read(start, 0, start.length, 0);
    refuseSpreadsheet(start);
    const found = markedEncoding(start) ?? encoding;
    if (found === 'utf-8') return handle;
    const bytes = handle.createReadStream({ start: 0, autoClose: false });
    const copy = await temporaryCopy(toUtf8(bytes, found), signal);
    await handle.close();
    return copy;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function openBytes(
  file: string,
  stdin: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<FileHandle> {
  if (file === STANDARD_INPUT) return temporaryCopy(stdin, signal);
  const found = await stat(file);
  // A file that the system generates, such as one in /proc, has no size.
  if (found.isFile() && found.size > 0) return open(file);
  return temporaryCopy(createReadStream(file), signal);
}

async function* toUtf8(
  chunks: AsyncIterable<Uint8Array>,
  encoding: Exclude<Encoding, 'utf-8'>,
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const encoder = new TextEncoder();
  try {
    for await (const chunk of chunks) {
      yield encoder.encode(decoder.decode(chunk, { stream: true }));
    }
    yield encoder.encode(decoder.decode());
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new PetFileError(`The file is not valid ${encoding.toUpperCase()}.`);
  }
}

async function temporaryCopy(
  input: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<FileHandle> {
  const path = join(tmpdir(), `petstore-stdin-${randomUUID()}`);
  const handle = await open(path, 'wx+', 0o600);
  try {
    // The system removes a file without a name when this process ends, even by a crash.
    await unlink(path);
    const write = async (chunks: AsyncIterable<Uint8Array>) => {
      for await (const chunk of chunks) await handle.writeFile(chunk);
    };
    await pipeline(input, write, { signal });
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Reads the whole file without storing anything. */
export async function checkFile(
  handle: FileHandle,
  options: {
    columns: Columns | undefined;
    onFaults: (faults: readonly LineFault[], layout: Layout) => void;
    onProgress: (animals: number, share: number) => void;
    signal: AbortSignal;
  },
): Promise<CheckedFile> {
  const { size, mtimeNs: modifiedNs } = await handle.stat({ bigint: true });
  const file: OpenedFile = { handle, sizeBytes: Number(size), modifiedNs };
  const start = Buffer.alloc(Math.min(LAYOUT_BYTES, file.sizeBytes));
  await handle.read(start, 0, start.length, 0);
  const layout = detectLayout(start, options.columns);
  const reader = newPetReader(layout);
  const content = createHash('sha256');
  let [readBytes, animals, invalid] = [0, 0, 0];
  const count = (pieces: Iterable<PetPiece>) => {
    for (const { pets, faults } of pieces) {
      animals += pets.length;
      for (const { lines } of faults) invalid += lines;
      if (faults.length > 0) options.onFaults(faults, layout);
    }
  };
  for await (const chunk of readChunks(file)) {
    options.signal.throwIfAborted();
    content.update(chunk);
    count(reader.push(chunk));
    readBytes += chunk.length;
    options.onProgress(animals, readBytes / file.sizeBytes);
  }
  count(reader.end());
  return { ...file, layout, digest: content.digest('hex'), animals, invalid };
}

/** Reads the animals of a checked file after an earlier position. */
export async function* readPieces(
  file: CheckedFile,
  before: ImportProgress,
): AsyncGenerator<PetPiece> {
  const reader = newPetReader(file.layout, before.lines);
  let unread = file.layout.format === 'json' ? 0 : before.position;
  for await (const chunk of readChunks(file)) {
    const skipped = Math.min(unread, chunk.length);
    unread -= skipped;
    yield* reader.push(chunk.subarray(skipped));
  }
  yield* reader.end();
}

/**
 * Reads as many bytes as the file had at first, and fails at the end if it has changed meanwhile. All chunks
 * share one buffer: each is valid until the next.
 */
async function* readChunks({ handle, sizeBytes, modifiedNs }: OpenedFile): AsyncGenerator<Buffer> {
  const buffer = Buffer.alloc(READ_BYTES);
  for (let position = 0; position < sizeBytes;) {
    const length = Math.min(READ_BYTES, sizeBytes - position);
    const { bytesRead } = await handle.read(buffer, 0, length, position);
    if (bytesRead === 0) throw new PetFileError(CHANGED);
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
  const { size, mtimeNs } = await handle.stat({ bigint: true });
  if (size !== BigInt(sizeBytes) || mtimeNs !== modifiedNs) throw new PetFileError(CHANGED);
}
