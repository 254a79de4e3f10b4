import { loadConfig } from '../config.ts';
import { UsageError } from '../setting.ts';
import { parseTypedInt64 } from '../domain/int64.ts';
import type { IdsUnknown } from '../storage/tools/restore.ts';
import { defineCommand } from './command.ts';
import { embeddedStoreFile, STORE_OPTIONS } from './store-flags.ts';
import { Progress } from './terminal.ts';

export const restore = defineCommand({
  purpose: 'Replace the store by a backup, while no service uses it',
  arguments: [{ name: 'FILE', description: 'a file that backup has written' }],
  options: {
    'ids-above': {
      value: 'ID',
      defaultText: 'the last id of the former file, if it is known',
      description: 'new animals get ids above this one',
      parse: (text: string) => idOrUndefined(text),
      mustBe: 'an integer from 0 to 9223372036854775807',
    },
    ...STORE_OPTIONS,
  },
  notes: `The former file is kept beside the new one. If it is intact, of the same store and newer than the
backup, new ids begin above its last id, and every key that it has ended stays ended. Otherwise
nobody knows which ids were assigned since, and --ids-above is required. Animals and idempotency
keys that were created after the backup are gone: a retry of such a create stores a second animal.
For PostgreSQL, docs/backup.md#postgresql has the steps.`,
  examples: ['restore sunday.sqlite', 'restore sunday.sqlite --ids-above 5000000'],
  async action({ arguments: [file = ''], options, flags, io }) {
    const { IdsUnknown, restoreStore } = await import('../storage/tools/restore.ts');
    const store = embeddedStoreFile(flags, io.env, {
      mustExist: false,
      // A command for the running database would assign ids again, and revive keys that were revoked.
      insteadOnPostgres: 'the steps of docs/backup.md#postgresql',
    });
    const { environment } = loadConfig(flags, io.env);
    const progress = new Progress(io.stderr, 'pages');
    try {
      const { verification, setAside, isPastKnown } = await restoreStore(store, file, {
        environment,
        idsAbove: options['ids-above'],
        onProgress: (count, total) => progress.show(count, count / total),
      });
      progress.clear();
      const former =
        setAside === undefined ? 'there was no former file' : `the former file is ${setAside}`;
      io.stderr.write(
        `Restored ${store} from ${file}, complete and checked; animals: ${verification.animals}, first new id: ${verification.lastId + 1n}; ${former}.\n`,
      );
      if (!isPastKnown) {
        io.stderr.write(
          'Keys that were ended after the backup may be valid again: revoke them before you start the service (keys list shows all).\n',
        );
      }
      return 0;
    } catch (error) {
      throw error instanceof IdsUnknown ? idsNeeded(error) : error;
    } finally {
      progress.clear();
    }
  },
});

function idsNeeded({ reason, lastIdOfBackup }: IdsUnknown): UsageError {
  return new UsageError(
    `--ids-above is required, because ${reason}: no id that was assigned after the backup may be assigned again. Name the highest id that anybody has seen or one above it, for example that of the newest price tag; or ${lastIdOfBackup}, the last id of the backup, if the service was stopped before the backup was made, as for a planned move.`,
  );
}

function idOrUndefined(text: string): bigint | undefined {
  const id = parseTypedInt64(text);
  return id !== undefined && id >= 0n ? id : undefined;
}
