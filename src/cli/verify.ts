import { loadConfig } from '../config.ts';
import { defineCommand } from './command.ts';
import { embeddedStoreFile, STORE_OPTIONS } from './store-flags.ts';

export const verify = defineCommand({
  purpose: 'Check the database and the rules of the catalogue',
  options: STORE_OPTIONS,
  switches: { json: 'write the result as one JSON document' },
  notes: `Each problem is one line on standard output, and the exit code is then 1. Nothing is changed, except
that a PostgreSQL database gets the schema of this version first. Without a problem, serve accepts a
file again that it has found damaged before.`,
  examples: ['verify', 'verify --json'],
  async action({ switches, flags, io }) {
    const { animals, lastId, problems } = await verifyStore();
    if (switches.json) {
      io.stdout.write(
        `{"animals":${animals},"lastId":${lastId},"problems":${JSON.stringify(problems)}}\n`,
      );
    } else {
      for (const problem of problems) io.stdout.write(`${problem}\n`);
      io.stderr.write(`Animals: ${animals}, last id: ${lastId}, problems: ${problems.length}.\n`);
    }
    return problems.length === 0 ? 0 : 1;

    async function verifyStore() {
      const { databaseUrl } = loadConfig(flags, io.env);
      if (databaseUrl !== undefined) {
        const { verifyPostgres } = await import('../storage/postgres/verify.ts');
        return verifyPostgres(databaseUrl);
      }
      const { verifySqlite } = await import('../storage/sqlite/verify.ts');
      return verifySqlite(embeddedStoreFile(flags, io.env, { mustExist: true }));
    }
  },
});
