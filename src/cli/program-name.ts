import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/[/\\]$/, '');

/**
 * How a text names this program where it tells a person to run another command: in a clone it is a file of the
 * folder, and otherwise on the PATH. `npx petstore` would offer a package of another author in a wrong folder.
 */
export function programName(script = process.argv[1] ?? ''): string {
  return [ROOT, join(ROOT, 'bin')].includes(dirname(script)) ? './petstore' : 'petstore';
}

export function shellQuoted(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
