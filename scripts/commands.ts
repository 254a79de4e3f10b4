// Writes docs/commands.md, the help of every command. A test fails when it is stale.

import { writeFileSync } from 'node:fs';
import type { Command, CommandGroup } from '../src/cli/command.ts';
import { COMMANDS } from '../src/cli/commands.ts';
import { execute, loadAll } from '../src/cli/execute.ts';

const INTRODUCTION = `# Commands

The help of every command, as \`petstore COMMAND --help\` shows it. \`npm run commands\` writes this page.

The command is \`petstore\`. In a clone, write \`./petstore\` in its folder.
\`health\` calls a running service. The others open the store itself, and name it on standard error; only \`restore\`
needs the service to be stopped.

In scripts: results go to standard output and messages to standard error; \`--json\` writes JSON. [Exit codes](running.md#exit-codes) say
whether a restart can help.

\`\`\`sh
petstore export | jq -r .name                   # the names of all animals
petstore keys list --json | jq -r .id           # the ids of all keys
KEY=$(petstore keys create --name shop)         # only the new key is on standard output
\`\`\`
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
  // No await at the top: the unit tests load their files by require().
  const page = new URL('../docs/commands.md', import.meta.url);
  void commandsDocument().then((text) => writeFileSync(page, text));
}
