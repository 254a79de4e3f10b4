import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Calls `instead` where the service itself, not SQLite, uses a function of node:fs on a log of SQLite. */
export function leaveOut(
  name: 'fsyncSync' | 'writeSync',
  instead: (descriptor: number, ...values: unknown[]) => unknown,
): void {
  const original = fs[name] as (descriptor: number, ...values: unknown[]) => unknown;
  const replacement = (descriptor: number, ...values: unknown[]) => {
    const isLog = fs.readlinkSync(`/proc/self/fd/${descriptor}`).endsWith('-wal');
    return (isLog ? instead : original)(descriptor, ...values);
  };
  Object.assign(fs, { [name]: replacement });
  syncBuiltinESMExports();
}
