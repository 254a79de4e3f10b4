import type { Command } from './cli/command.ts';
import { runCommand } from './cli/run.ts';

/** Each command is imported only when it is run, so that `serve` does not load code that it never uses. */
const commands: Record<string, () => Promise<Command>> = {
  serve: async () => (await import('./cli/serve.ts')).serve,
  health: async () => (await import('./cli/health.ts')).health,
  keys: async () => (await import('./cli/keys.ts')).keys,
  catalogue: async () => (await import('./cli/catalogue.ts')).catalogue,
  import: async () => (await import('./cli/import.ts')).importPets,
  export: async () => (await import('./cli/export.ts')).exportPets,
  pets: async () => (await import('./cli/pets.ts')).pets,
  copy: async () => (await import('./cli/copy.ts')).copy,
  check: async () => (await import('./cli/check.ts')).check,
};

process.exitCode = await runCommand(commands, process.argv.slice(2));
