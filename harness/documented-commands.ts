import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const PAGES = new URL('../docs/', import.meta.url);

/** The first block of commands below a heading of a page in docs/, or below a sentence. */
export function commandsBelow(page: string, text: string): string {
  const content = readFileSync(new URL(page, PAGES), 'utf8');
  const at = content.indexOf(text);
  assert.notEqual(at, -1, `${page} has "${text}"`);
  const [, block = ''] = /```sh\n([^]*?)```/.exec(content.slice(at)) ?? [];
  assert.notEqual(block, '', `${page} has commands below "${text}"`);
  return block;
}
