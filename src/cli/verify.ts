import { loadConfig } from '../config.ts';
import type { Verification } from '../storage/tools/verify.ts';
import { defineCommand, type Call } from './command.ts';
import { embeddedStoreFile, STORE_OPTIONS } from './store-flags.ts';
import { nameOfStore } from '../open-store.ts';

export const verify = defineCommand({
  purpose: 'Check the database and the rules of the catalogue',
  arguments: [
    { name: 'FILE', description: 'a backup to check instead of the store', isOptional: true },
  ],
  options: STORE_OPTIONS,
  notes: `Each problem is one line on standard output, and the exit code is then 1. The tables, indexes,
triggers and views are compared with those of a new store: what somebody else has added is named on
standard error if it does no harm, and is a problem otherwise. Nothing is changed, and a store of
any version and environment is accepted.`,
  examples: ['verify', 'verify sunday.sqlite'],
  async action({ arguments: [file], flags, io }) {
    const { name, animals, lastId, problems, warnings } = await verifyNamed(file, flags, io);
    for (const problem of problems) io.stdout.write(`${problem}\n`);
    for (const warning of warnings) io.stderr.write(`${name}: ${warning}.\n`);
    io.stderr.write(
      `${name}: animals: ${animals}, last id: ${lastId}, problems: ${problems.length}.\n`,
    );
    return problems.length === 0 ? 0 : 1;
  },
});

async function verifyNamed(
  file: string | undefined,
  flags: Call<never, never>['flags'],
  { env }: Call<never, never>['io'],
): Promise<Verification & { name: string }> {
  const config = loadConfig(flags, env);
  if (file === undefined && config.databaseUrl !== undefined) {
    const { verifyPostgres } = await import('../storage/tools/postgres-verify.ts');
    return { ...(await verifyPostgres(config.databaseUrl)), name: nameOfStore(config) };
  }
  const { verifySqlite } = await import('../storage/tools/sqlite-verify.ts');
  const name = file ?? embeddedStoreFile(flags, env, { mustExist: true });
  return { ...verifySqlite(name), name };
}
