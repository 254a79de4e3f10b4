// Counts lines of code by folder, of the product and of what proves it: `npm run lines`. Lines that are empty or only
// comments do not count, nor do recordings, which are data.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const PRODUCT = /^(src|check|sdk|scripts|bin)\//;
const PROOF =
  /^(test|drills|harness|bench)\/|\.(test|contract|test-server)\.ts$|^(check|sdk)\/test\//;
const SOURCE = /\.(ts|js|cjs|mjs|sql|css|html|py|sh|c)$/;
/** The folder that a line of the table counts: two levels of src, otherwise one. */
const FOLDER = /^src\/[^/]+(?=\/)|^[^/]+/;
/** A line that is only a comment. Each line of a long one begins with its mark, as everywhere in this project. */
const COMMENT = /^(\/\/|\/\*|\*( |\/|$)|<!--)/;
const COMMENTS_OF: Readonly<Record<string, RegExp>> = { sql: /^--/, py: /^#/, sh: /^#/ };

export type Kind = 'product' | 'proof';

/** The lines of code of each folder, by their kind. */
export function countLines(): Map<Kind, Map<string, number>> {
  const counts = new Map<Kind, Map<string, number>>();
  const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n');
  for (const file of files.filter((name) => SOURCE.test(name))) {
    const kind = kindOf(file);
    if (kind === undefined) continue;
    const folders = counts.get(kind) ?? new Map<string, number>();
    const folder = FOLDER.exec(file)?.[0] ?? file;
    const lines = codeLines(file, readFileSync(join(ROOT, file), 'utf8'));
    counts.set(kind, folders.set(folder, (folders.get(folder) ?? 0) + lines));
  }
  return counts;
}

export function kindOf(file: string): Kind | undefined {
  if (PROOF.test(file)) return 'proof';
  return PRODUCT.test(file) ? 'product' : undefined;
}

export function codeLines(file: string, text: string): number {
  const comment = COMMENTS_OF[file.split('.').at(-1) ?? ''] ?? COMMENT;
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '' && !comment.test(line)).length;
}

if (import.meta.main) {
  for (const [kind, folders] of countLines()) {
    const sum = [...folders.values()].reduce((total, lines) => total + lines, 0);
    const rows = [...folders].map(([folder, lines]) => `${kind}\t${folder}\t${lines}`).toSorted();
    for (const row of [...rows, `${kind}\tall\t${sum}`]) console.log(row);
  }
}
