import { defineCommand } from './command.ts';
import { embeddedStoreFile, STORE_OPTIONS } from './store-flags.ts';
import { Progress } from './terminal.ts';

export const backup = defineCommand({
  purpose: 'Copy the store into one file, while the service runs or not, and check the copy',
  arguments: [{ name: 'FILE', description: 'the file to write, which must not exist' }],
  options: STORE_OPTIONS,
  notes: `The copy is the catalogue at one moment. It gets its name only when it is complete and checked.
For PostgreSQL use pg_dump.`,
  examples: ['backup monday.sqlite', 'backup --env staging staging.sqlite'],
  async action({ arguments: [file = ''], flags, io }) {
    const { backUpStore } = await import('../storage/sqlite/backup.ts');
    const store = embeddedStoreFile(flags, io.env, {
      mustExist: true,
      insteadOnPostgres: 'pg_dump --format=custom --file FILE "$DATABASE_URL"',
    });
    const progress = new Progress(io.stderr, 'pages');
    try {
      const { animals, lastId } = await backUpStore(store, file, (count, total) =>
        progress.showBar({ count, share: count / total }),
      );
      progress.clear();
      io.stderr.write(
        `${file} is complete and checked; animals: ${animals}, last id: ${lastId}.\n`,
      );
      return 0;
    } finally {
      progress.clear();
    }
  },
});
