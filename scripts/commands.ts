// Writes docs/commands.md, the help of every command. A test fails when it is stale.

import { writeFileSync } from 'node:fs';
import type { Command, CommandGroup } from '../src/cli/command.ts';
import { COMMANDS } from '../src/cli/commands.ts';
import { execute, loadAll } from '../src/cli/execute.ts';

const INTRODUCTION = `# Commands

The help of every command, as \`petstore COMMAND --help\` shows it. \`npm run commands\` writes this page.
`;

/** The words of every command, without \`petstore\`. */
export function pathsOf(found: Command | CommandGroup, path: string[] = []): string[][] {
  const members = 'commands' in found ? Object.entries(found.commands) : [];
  return [path, ...members.flatMap(([name, member]) => pathsOf(member, [...path, name]))];
}

export async function commandsDocument(): Promise<string> {
  const sections = pathsOf(await loadAll(COMMANDS)).map(async (path) => {
    let help = '';
    const stdout = { write: (text: string) => (help += text) };
    await execute(COMMANDS, [...path, '--help'], { env: {}, stdout, stderr: stdout });
    return `\n## ${['petstore', ...path].join(' ')}\n\n\`\`\`\n${help}\`\`\`\n`;
  });
  return INTRODUCTION + (await Promise.all(sections)).join('');
}

if (import.meta.main) {
  writeFileSync(new URL('../docs/commands.md', import.meta.url), await commandsDocument());
}
