import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { TestContext } from 'node:test';

type FileFunction =
  | 'chmodSync'
  | 'closeSync'
  | 'fsyncSync'
  | 'linkSync'
  | 'mkdirSync'
  | 'openSync'
  | 'renameSync'
  | 'statSync'
  | 'statfsSync'
  | 'writeSync';

/** Calls `replacement` in place of a function of node:fs, for all modules of this thread, until the test ends. */
export function intercept<Name extends FileFunction>(
  t: TestContext,
  name: Name,
  replacement: (
    original: (typeof fs)[Name],
    ...values: Parameters<(typeof fs)[Name]>
  ) => ReturnType<(typeof fs)[Name]>,
): void {
  const original = fs[name];
  const set = (value: unknown) => {
    Object.assign(fs, { [name]: value });
    syncBuiltinESMExports();
  };
  set((...values: Parameters<(typeof fs)[Name]>) => replacement(original, ...values));
  t.after(() => set(original));
}

/** An error as the file system reports it. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: failed`), { code });
}
