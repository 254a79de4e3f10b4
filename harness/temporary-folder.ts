import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type TemporaryFolder = Awaited<ReturnType<typeof temporaryFolder>>;

/** A folder that is removed when it is disposed of. */
export function temporaryFolder() {
  return mkdtempDisposable(join(tmpdir(), 'petstore-'));
}
