import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { PetReader, type LineFault } from '../pet-file/pet-reader.ts';
import type { PetFormat, ReadPet } from '../pet-file/read-pet.ts';
import { PET_RULES } from './pet-format.ts';

/** Bytes per read. The animals of one read, about a thousand, are stored in one transaction. */
const READ_BYTES = 64 * 1024;

export interface Inspection {
  /** SHA-256 of the whole file. */
  digest: string;
  sizeBytes: number;
  /** How its records are read; undefined for a CSV file without a header. */
  readPet: ReadPet | undefined;
  /** The first line that is not an animal; searched for only with `isStrict`. */
  fault: LineFault | undefined;
}

/** Reads a file from a position on. All chunks share one buffer: each is valid until the next is read. */
export async function* readChunks(file: string, start: number): AsyncGenerator<Buffer> {
  const handle = await open(file);
  try {
    const buffer = Buffer.alloc(READ_BYTES);
    let position = start;
    while (true) {
      const { bytesRead } = await handle.read(buffer, 0, READ_BYTES, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/** Reads the whole file without storing anything. */
export async function inspectFile(
  file: string,
  { format, isStrict }: { format: PetFormat; isStrict: boolean },
): Promise<Inspection> {
  const reader = new PetReader(format, { rules: PET_RULES, linesBefore: 0, isStrict });
  const content = createHash('sha256');
  let sizeBytes = 0;
  let fault: LineFault | undefined;
  for await (const bytes of readChunks(file, 0)) {
    content.update(bytes);
    sizeBytes += bytes.length;
    if (isStrict || reader.readPet === undefined) fault ??= reader.push(bytes).faults[0];
    if (isStrict && fault !== undefined) break;
  }
  fault ??= isStrict || reader.readPet === undefined ? reader.end().faults[0] : undefined;
  return {
    digest: content.digest('hex'),
    sizeBytes,
    readPet: reader.readPet,
    fault: isStrict ? fault : undefined,
  };
}
