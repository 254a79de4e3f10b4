import { UsageError } from '../setting.ts';
import { Refusal } from '../domain/errors.ts';
import { StoreFault, StoreUnusable } from '../domain/store.ts';

/** Why a command failed. The exit code is 2 for wrong usage or settings, and 1 for every other failure. */
export interface Failure {
  exitCode: 1 | 2;
  line: string;
}

/** The code of SQLite for an invalid statement, which is a defect of this program. */
const SQLITE_ERROR = 1;

/** Returns undefined for a defect of this program: its stack trace says more than one line. */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof StoreFault) return { exitCode: 1, line: error.message };
  if (error instanceof UsageError || error instanceof StoreUnusable) {
    return { exitCode: 2, line: error.message };
  }
  if (error instanceof Refusal) return { exitCode: 1, line: refusalLine(error) };
  if (!(error instanceof Error)) return undefined;
  const { syscall, errcode } = error as { syscall?: string; errcode?: number };
  const isSystemError = syscall !== undefined || (errcode ?? SQLITE_ERROR) !== SQLITE_ERROR;
  return isSystemError ? { exitCode: 1, line: error.message } : undefined;
}

/** The message of a refusal and its cause. A client of the interface never sees the cause; an operator may. */
export function refusalLine({ message, cause }: Refusal): string {
  const reason = cause instanceof Error ? cause.message : cause;
  return typeof reason === 'string' ? `${message.replace(/\.$/, '')} (${reason}).` : message;
}
