import type { PetStatus } from '../../../../sdk/src/index.ts';
import type { Session } from './session.ts';

/** The service reads no longer list. */
const BYTES_MAX = 1024 * 1024;

/** A list as text, or a file as it is. */
export type List = string | File;

/** What a person says about a list. */
export interface Choice {
  /** The numbers of the columns, from 1. */
  columns?: readonly number[];
  encoding?: 'windows-1252';
}

/** The first lines of a table, and the columns of name, category and status, from 1. */
export interface Table {
  rows: readonly (readonly string[])[];
  columns: readonly (number | null)[];
}

export interface FaultyLine {
  line: number;
  lines: number;
  reason: string;
}

/** What the service says of a list before it is added. */
export interface Preview {
  /** It is not UTF-8, and a person must say what it is. */
  needsEncoding: boolean;
  table?: Table;
  layout: string;
  unit: 'line' | 'item';
  animals: number;
  first: readonly { name: string; categoryId: string; status: PetStatus }[];
  faultCount: number;
  faults: readonly FaultyLine[];
  addedBefore?: Added;
}

/** Why a list cannot be read as a whole. */
export type Unreadable = Pick<Preview, 'needsEncoding' | 'table'> & { fault: string };

/** What is in the store of a list that was added before. */
export interface Added {
  animals: number;
  skipped: number;
}

export interface Outcome {
  added: number;
  addedBefore?: Added;
  /** The lines that were left out, as a list of their own. */
  faultyLines: string;
}

export interface AddOptions {
  isSkipping: boolean;
  /** The name of a repetition on purpose. */
  again?: string;
}

export function isTooLong(list: List): boolean {
  return (typeof list === 'string' ? new Blob([list]) : list).size > BYTES_MAX;
}

/** Says what the list would add. */
export function previewList(
  session: Session,
  list: List,
  choice: Choice,
  signal: AbortSignal,
): Promise<Preview | Unreadable> {
  return session.importList(list, queryOf(choice, ['dry-run']), signal);
}

/** Adds the list. The same call adds nothing twice. */
export function addList(
  session: Session,
  list: List,
  choice: Choice,
  { isSkipping, again }: AddOptions,
): Promise<Outcome> {
  const more = [...(isSkipping ? ['skip-invalid'] : []), ...(again ? [`again=${again}`] : [])];
  return session.importList(list, queryOf(choice, more));
}

function queryOf({ columns, encoding }: Choice, parts: string[]): string {
  if (columns !== undefined) parts.push(`columns=${columns.join(',')}`);
  if (encoding !== undefined) parts.push(`encoding=${encoding}`);
  return parts.join('&');
}
