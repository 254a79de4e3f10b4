import { UsageError } from '../config.ts';
import { Refusal } from '../domain/errors.ts';
import { StoreUnusable } from '../domain/store.ts';

/** Why a command could not do its work. The exit code is 2 for wrong use, 1 for whatever failed. */
export interface Failure {
  exitCode: 1 | 2;
  line: string;
}

/** SQLite's number for a statement that makes no sense: a defect of ours. */
const SQLITE_ERROR = 1;

/** The failure to tell a person, or undefined for a defect, whose stack trace is worth more. */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof UsageError || error instanceof StoreUnusable) {
    return { exitCode: 2, line: error.message };
  }
  if (error instanceof Refusal) return { exitCode: 1, line: refusalLine(error) };
  if (!(error instanceof Error)) return undefined;
  const { syscall, errcode } = error as { syscall?: string; errcode?: number };
  const isOfSystem = syscall !== undefined || (errcode ?? SQLITE_ERROR) !== SQLITE_ERROR;
  return isOfSystem ? { exitCode: 1, line: error.message } : undefined;
}

/** A refusal with its cause: unlike the caller of the interface, who runs a command may know it. */
export function refusalLine({ message, cause }: Refusal): string {
  const reason = cause instanceof Error ? cause.message : cause;
  return typeof reason === 'string' ? `${message.replace(/\.$/, '')} (${reason}).` : message;
}
