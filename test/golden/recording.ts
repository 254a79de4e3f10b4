// Text files with what the program did, under headings that are the titles of tests.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { diff } from 'node:util';

const isUpdate = process.env['UPDATE'] === '1';
if (isUpdate && process.env['CI'] !== undefined) {
  throw new Error(
    'UPDATE=1 is refused in CI: record on your machine, and look at each difference.',
  );
}

/** A heading and the lines below it. */
export interface Block {
  title: string;
  lines: readonly string[];
}

export class Recording {
  readonly blocks: readonly Block[];
  readonly #path: string;
  readonly #isSent: (line: string) => boolean;
  readonly #found = new Map<Block, readonly string[]>();

  /** `isSent` tells the lines that the test sends from those that it records. */
  constructor(file: URL, isSent: (line: string) => boolean) {
    this.#path = fileURLToPath(file);
    this.#isSent = isSent;
    const sections = readFileSync(file, 'utf8').trimEnd().split(/^# /m).slice(1);
    this.blocks = sections.map((section) => {
      const [title = '', ...lines] = section.trimEnd().split('\n');
      return { title, lines };
    });
  }

  sentIn({ lines }: Block): string[] {
    return lines.filter(this.#isSent);
  }

  /** Asserts that the block is what was found now. With `UPDATE=1`, what was found takes its place. */
  check(block: Block, found: readonly string[], { mayRecord = true } = {}): void {
    const changes = this.#changes(block.lines, found);
    if (changes.length === 0) return;
    const name = basename(this.#path);
    if (!isUpdate || !mayRecord) {
      const how = `${name} has lines with -, found were those with +; UPDATE=1 records them.`;
      assert.fail([how, ...changes].join('\n'));
    }
    console.log([`${name}: ${block.title}`, ...changes].join('\n'));
    this.#found.set(block, found);
    const text = this.blocks.map((each) => [
      `# ${each.title}`,
      ...(this.#found.get(each) ?? each.lines),
    ]);
    writeFileSync(this.#path, `${text.flat().join('\n')}\n`);
  }

  /** The lines that differ, each group below the line that was sent. */
  #changes(recorded: readonly string[], found: readonly string[]): string[] {
    const changes: string[] = [];
    let sent: string | undefined;
    for (const [side, line] of diff(found, recorded)) {
      if (this.#isSent(line)) sent = line;
      if (side === 0) continue;
      if (sent !== undefined && sent !== line) changes.push(`  ${sent}`);
      sent = undefined;
      changes.push(`${side > 0 ? '+' : '-'} ${line}`);
    }
    return changes;
  }
}
