import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that is removed when it is disposed of. */
export function disposableFolder() {
  return mkdtempDisposable(join(tmpdir(), 'petstore-'));
}

/** A folder that is removed at the end of the test, or, without one, of this process. */
export function temporaryFolder(t?: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'petstore-'));
  if (t === undefined) ofProcess.push(path);
  else t.after(() => remove(path));
  return path;
}

const ofProcess: string[] = [];
process.once('exit', () => {
  for (const path of ofProcess) remove(path);
});

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
