import { fileURLToPath } from 'node:url';

/** The flags of Node.js that load a file of this folder into the service before its own code. */
export function brokenBy(
  name:
    | 'acknowledges-early'
    | 'forgets-creates'
    | 'ignores-full-disk'
    | 'keeps-chunks'
    | 'leaks'
    | 'outlives-its-primary'
    | 'plain-errors'
    | 'slow-commits'
    | 'stops-at-connections'
    | 'stops-at-once'
    | 'waits-for-ever',
): readonly string[] {
  return ['--import', fileURLToPath(new URL(`./${name}.ts`, import.meta.url))];
}

/** The flags of Node.js that put a bug of the list into a process. */
export function brokenByBug(name: string): readonly string[] {
  const { href } = new URL('./listed-bug.ts', import.meta.url);
  return ['--import', `${href}?${encodeURIComponent(name)}`];
}
