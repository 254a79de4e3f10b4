import type { Variables } from '../config.ts';

export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** The variables and streams that a command uses. */
export interface Io {
  env: Variables;
  /** Read when a file is `-`, and for the reply to a question; by default that of the process. */
  stdin?: AsyncIterable<Uint8Array> & { readonly isTTY?: boolean };
  /** Results, which a program may read. */
  stdout: Output;
  /** Messages for people. */
  stderr: Output;
}

/** Runs with the arguments after its name and returns the exit code. */
export type Command = (args: string[], io: Io) => Promise<number>;
