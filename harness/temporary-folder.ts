import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type DisposableFolder = Awaited<ReturnType<typeof disposableFolder>>;

/** A folder that is removed when it is disposed of. */
export function disposableFolder() {
  return mkdtempDisposable(join(tmpdir(), 'petstore-'));
}

/** A folder that is removed at the end of the test. */
export function temporaryFolder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'petstore-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
