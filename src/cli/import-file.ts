import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { PetFormat, ReadPet } from './pet-format.ts';
import { PetReader, type LineFault } from './pet-reader.ts';

/** What is read at once, and stored in one transaction: a few thousand animals. */
export const READ_BYTES = 256 * 1024;

export interface Inspection {
  /** SHA-256 of the whole file. */
  digest: string;
  sizeBytes: number;
  /** How its records are read; undefined for a CSV file without even a header. */
  readPet: ReadPet | undefined;
  /** The first line that holds no animal; looked for only with `isStrict`. */
  fault: LineFault | undefined;
}

/** Reads a file through without storing anything. */
export async function inspectFile(
  file: string,
  { format, isStrict }: { format: PetFormat; isStrict: boolean },
): Promise<Inspection> {
  const reader = new PetReader(format, { linesBefore: 0, isStrict });
  const content = createHash('sha256');
  let sizeBytes = 0;
  let fault: LineFault | undefined;
  for await (const chunk of createReadStream(file, { highWaterMark: READ_BYTES })) {
    const bytes = chunk as Buffer;
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
