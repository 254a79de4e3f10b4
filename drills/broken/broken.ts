import { fileURLToPath } from 'node:url';

/** The flags of Node.js that load a file of this folder into the service before its own code. */
export function brokenBy(
  name:
    | 'acknowledges-early'
    | 'another-status'
    | 'commits-asynchronously'
    | 'forgets-creates'
    | 'ignores-full-disk'
    | 'keeps-chunks'
    | 'leaks'
    | 'plain-errors'
    | 'slow-commits'
    | 'stops-at-connections'
    | 'stops-at-once'
    | 'waits-for-ever',
): readonly string[] {
  return ['--import', fileURLToPath(new URL(`./${name}.ts`, import.meta.url))];
}
