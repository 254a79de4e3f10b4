import { parseInt64 } from '../domain/int64.ts';
import { defineCommand } from './command.ts';
import { embeddedStoreFile, STORE_OPTIONS } from './store-flags.ts';
import { Progress } from './terminal.ts';

export const restore = defineCommand({
  purpose: 'Replace the store by a backup, while no service uses it',
  arguments: [{ name: 'FILE', description: 'a file that backup has written' }],
  options: {
    'ids-above': {
      value: 'ID',
      defaultText: 'the last id of the former store; without it, 1,000,000 above the backup',
      description: 'new animals get ids above this one',
      parse: (text: string) => idOrUndefined(text),
      mustBe: 'an integer from 0 to 9223372036854775807',
    },
    ...STORE_OPTIONS,
  },
  notes: `The former file is kept beside the new one. Animals, keys and idempotency keys that were created
after the backup are gone: a retry of such a create stores a second animal. Keys that were revoked
after the backup stay revoked if the former file can be read.
For PostgreSQL use pg_restore.`,
  examples: ['restore sunday.sqlite', 'restore sunday.sqlite --ids-above 5000000'],
  async action({ arguments: [file = ''], options, flags, io }) {
    const { restoreStore } = await import('../storage/sqlite/restore.ts');
    const store = embeddedStoreFile(flags, io.env, {
      mustExist: false,
      insteadOnPostgres: 'pg_restore --clean --dbname "$DATABASE_URL" FILE',
    });
    const progress = new Progress(io.stderr, 'pages');
    try {
      const { verification, setAside, isPastKnown } = await restoreStore(store, file, {
        idsAbove: options['ids-above'],
        onProgress: (count, total) => progress.showBar({ count, share: count / total }),
      });
      progress.clear();
      const { animals, lastId } = verification;
      io.stderr.write(
        `${store} is restored and checked; animals: ${animals}; new animals get ids above ${lastId}.\n`,
      );
      if (setAside !== undefined) io.stderr.write(`The former store is ${setAside}.\n`);
      if (!isPastKnown) {
        io.stderr.write(
          'No former store could be read: keys that were revoked after the backup are valid again; revoke them.\n',
        );
      }
      return 0;
    } finally {
      progress.clear();
    }
  },
});

function idOrUndefined(text: string): bigint | undefined {
  const id = parseInt64(text);
  return id !== undefined && id >= 0n ? id : undefined;
}
