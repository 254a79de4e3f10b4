import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { MAIN } from './command.ts';
import { temporaryFolder } from './temporary-folder.ts';

const PAGES = new URL('../docs/', import.meta.url);
const HEADING_OR_BLOCK = /^(#+ .*)$|^```(\w*)\n([^]*?)^```$/gm;

/** The blocks of commands of a page in docs/, each with the heading above it. */
export function blocksOf(page: string): { heading: string; commands: string }[] {
  const content = readFileSync(new URL(page, PAGES), 'utf8');
  let heading = '';
  return [...content.matchAll(HEADING_OR_BLOCK)].flatMap(([, title, language, commands = '']) => {
    heading = title ?? heading;
    return language === 'sh' ? [{ heading, commands }] : [];
  });
}

/** The blocks of commands between a heading and the next one. */
export function blocksBelow(page: string, heading: string): string[] {
  const blocks = blocksOf(page).filter((block) => block.heading === heading);
  assert.notEqual(blocks.length, 0, `${page} has commands below "${heading}"`);
  return blocks.map(({ commands }) => commands);
}

/** The first of them. */
export function commandsBelow(page: string, heading: string): string {
  return blocksBelow(page, heading)[0] ?? '';
}

/** A folder for the PATH with `petstore`, as the pages write it. */
export function petstoreFolder(t: TestContext): string {
  const folder = temporaryFolder(t);
  const script = `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`;
  writeFileSync(join(folder, 'petstore'), script, { mode: 0o755 });
  return folder;
}

/** Runs commands as somebody who pastes them, with `petstore` in the PATH. The first that fails ends them. */
export async function runInShell(
  t: TestContext,
  commands: string,
  cwd: string,
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const PATH = [petstoreFolder(t), process.env['PATH']].join(delimiter);
  const env = { PATH, ...variables };
  const { stdout } = await promisify(execFile)('/bin/sh', ['-euc', commands], { cwd, env });
  return stdout;
}
