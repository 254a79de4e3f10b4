import { fileURLToPath } from 'node:url';

/** The flags of Node.js that load a file of this folder into the service before its own code. */
export function brokenBy(
  name:
    | 'commits-late'
    | 'forgets-creates'
    | 'keeps-chunks'
    | 'leaks'
    | 'plain-errors'
    | 'starts-too-many'
    | 'waits-for-ever',
): readonly string[] {
  return ['--import', fileURLToPath(new URL(`./${name}.ts`, import.meta.url))];
}
