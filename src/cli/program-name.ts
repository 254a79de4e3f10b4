import { dirname, join } from 'node:path';
import { CLONE } from '../ops/installation.ts';

/**
 * How a text names this program where it tells a person to run another command: in a clone it is a file of the
 * folder, and otherwise on the PATH. `npx petstore` would offer a package of another author in a wrong folder.
 */
export function programName(script = process.argv[1] ?? ''): string {
  const folders = CLONE === undefined ? [] : [CLONE, join(CLONE, 'bin')];
  return folders.includes(dirname(script)) ? './petstore' : 'petstore';
}

export function shellQuoted(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
