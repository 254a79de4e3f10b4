#!/usr/bin/env node
import type { Command } from './cli/command.ts';
import { unfitRuntime } from './runtime.ts';

/** Loaded only when asked for, so that `serve` does not wait for what it never uses. */
const commands: Record<string, () => Promise<Command>> = {
  serve: async () => (await import('./cli/serve.ts')).serve,
  keys: async () => (await import('./cli/keys.ts')).keys,
  import: async () => (await import('./cli/import.ts')).importPets,
  export: async () => (await import('./cli/export.ts')).exportPets,
  pets: async () => (await import('./cli/pets.ts')).pets,
  copy: async () => (await import('./cli/copy.ts')).copy,
  check: async () => (await import('./cli/check.ts')).check,
};

async function main(args: string[]): Promise<number> {
  const unfit = unfitRuntime(process.versions);
  if (unfit !== undefined) {
    process.stderr.write(`petstore: ${unfit}\n`);
    return 2;
  }
  const { runCommand } = await import('./cli/run.ts');
  return runCommand(commands, args);
}

process.exitCode = await main(process.argv.slice(2));
