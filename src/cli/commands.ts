import type { Registry } from './command.ts';

/** Every command. To add one, write its definition in its own file and add a line here. The help and its tests follow. */
export const COMMANDS: Registry = {
  serve: async () => (await import('./serve.ts')).serve,
  health: async () => (await import('./health.ts')).health,
  keys: async () => (await import('./keys.ts')).keys,
  import: async () => (await import('./import.ts')).importPets,
  export: async () => (await import('./export.ts')).exportPets,
  catalogue: async () => (await import('./catalogue.ts')).catalogue,
  backup: async () => (await import('./backup.ts')).backup,
  restore: async () => (await import('./restore.ts')).restore,
  verify: async () => (await import('./verify.ts')).verify,
  copy: async () => (await import('./copy.ts')).copy,
};
