import type { Variables } from '../config.ts';

export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** What a command may touch besides the network and its store. */
export interface Io {
  env: Variables;
  /** What a command reads where it is told to read `-`; the process's own unless given. */
  stdin?: AsyncIterable<Uint8Array>;
  /** For what a program may use. */
  stdout: Output;
  /** For words to a person. */
  stderr: Output;
}

/** Runs with the arguments after its name; the answer is the exit code. */
export type Command = (args: string[], io: Io) => Promise<number>;
