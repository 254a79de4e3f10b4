import { statSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../config.ts';
import { integerFrom, UsageError } from '../setting.ts';
import { defineCommand } from './command.ts';
import { embeddedStoreFile, STORE_OPTIONS } from './store-flags.ts';
import { Progress } from './terminal.ts';

const KEEP_MAX = 100_000;

export const backup = defineCommand({
  purpose: 'Copy the store into one file, while the service runs or not, and check the copy',
  arguments: [
    {
      name: 'FILE',
      description: 'the file to write, which must not exist; or a folder, for a file with a date',
    },
  ],
  options: {
    keep: {
      value: 'N',
      defaultText: 'all',
      description: 'remove all but the newest N dated backups of this store from the folder',
      ...integerFrom(1, KEEP_MAX),
    },
    ...STORE_OPTIONS,
  },
  notes: `The copy is the catalogue at one moment. It gets its name only when it is complete and checked;
--keep removes older ones only after that, and what killed ones have left. In a folder its name is
petstore-ENVIRONMENT-DATE.sqlite.
For PostgreSQL use pg_dump.`,
  examples: ['backup monday.sqlite', 'backup --env staging backups/ --keep 14'],
  async action({ arguments: [named = ''], options: { keep }, flags, io }) {
    const { backUpStore } = await import('../storage/tools/backup.ts');
    const { datedName, removeOlderBackups } = await import('./dated-backups.ts');
    const store = embeddedStoreFile(flags, io.env, {
      mustExist: true,
      insteadOnPostgres: 'pg_dump --format=custom --file FILE "$DATABASE_URL"',
    });
    const { environment } = loadConfig(flags, io.env);
    const now = io.clock.now();
    const isFolder = named.endsWith('/') || isExistingFolder(named);
    if (keep !== undefined && !isFolder) {
      throw new UsageError(
        `--keep needs a folder, and ${named} is not a folder: name one that exists.`,
      );
    }
    const file = isFolder ? join(named, datedName(environment, now)) : named;
    const regularAt = keep === undefined ? undefined : now;
    const progress = new Progress(io.stderr, 'pages');
    try {
      const onProgress = (count: number, total: number) => progress.show(count, count / total);
      const made = await backUpStore(store, file, { regularAt, environment, onProgress });
      progress.clear();
      io.stderr.write(
        `Backed up ${store} to ${file}, complete and checked; animals: ${made.animals}, last id: ${made.lastId}.\n`,
      );
      for (const problem of made.problems) {
        io.stderr.write(`Until this is mended, restore refuses the backup: ${problem}.\n`);
      }
      if (!made.isRecorded) io.stderr.write('The time could not be recorded in the store.\n');
      const removed = keep === undefined ? [] : removeOlderBackups(file, keep, now);
      for (const name of removed) io.stderr.write(`Removed ${join(named, name)}.\n`);
      return 0;
    } finally {
      progress.clear();
    }
  },
});

function isExistingFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
