import { loadConfig } from '../config.ts';
import { stateOfKey } from '../domain/api-key.ts';
import { parseInt64 } from '../domain/int64.ts';
import { newStoreIdentity } from '../domain/store-identity.ts';
import type { Restored } from '../storage/sqlite/restore.ts';
import { printable } from '../domain/printable.ts';
import { defineCommand } from './command.ts';
import { embeddedStoreFile, STORE_OPTIONS } from './store-flags.ts';
import { Progress } from './terminal.ts';

export const restore = defineCommand({
  purpose: 'Replace the store by a backup, while no service uses it',
  worksOn: 'store',
  arguments: [{ name: 'FILE', description: 'a file that backup has written' }],
  options: {
    'ids-above': {
      value: 'ID',
      defaultText: 'the last id of the former file, or far above the backup',
      description: 'new animals get ids above this one',
      parse: (text: string) => idOrUndefined(text),
      mustBe: 'an integer from 0 to 9223372036854775807',
    },
    ...STORE_OPTIONS,
  },
  notes: `The former file is kept beside the new one. If it is intact, of the same store and newer than the
backup, new ids begin above its last id, and every key that it has ended stays ended. Otherwise
they begin 10,000,000 above the backup, and 1,000,000 more for each second since it was made; the
keys that may be valid again are listed. So a quiet store skips ids: a file with the same last id
may be a copy of the backup. Animals and idempotency keys that were created after the backup are
gone: a retry of such a create stores a second animal.
For PostgreSQL, docs/operations/backup.md#postgresql has the steps.`,
  examples: ['restore sunday.sqlite', 'restore sunday.sqlite --ids-above 5000000'],
  async action({ arguments: [file = ''], options, flags, io }) {
    const { restoreStore } = await import('../storage/sqlite/restore.ts');
    const store = embeddedStoreFile(flags, io.env, {
      mustExist: false,
      // A command for the running database would assign ids again, and revive keys that were revoked.
      insteadOnPostgres: 'the steps of docs/operations/backup.md#postgresql',
    });
    const { environment } = loadConfig(flags, io.env);
    const now = io.clock.now();
    const progress = new Progress(io.stderr, 'pages');
    const restoring = restoreStore(store, file, {
      environment,
      identity: newStoreIdentity(environment, { now, randomBytes: io.randomBytes }),
      idsAbove: options['ids-above'],
      now,
      onProgress: (count, total) => progress.showBar({ count, share: count / total }),
    });
    const restored = await restoring.finally(() => progress.clear());
    io.stderr.write(summary(store, file, restored, { now, idsAbove: options['ids-above'] }));
    return 0;
  },
});

/** Always the same five lines. */
function summary(
  store: string,
  file: string,
  { verification, setAside, pastUnknown, lastIdOfBackup, keys }: Restored,
  { now, idsAbove }: { now: Date; idsAbove: bigint | undefined },
): string {
  const { animals, lastId } = verification;
  const former =
    setAside === undefined ? 'there was no former file' : `the former file is ${setAside}`;
  // If the past is known, no ended key is valid again.
  const validAgain = keys
    .filter((key) => pastUnknown !== undefined && stateOfKey(key, now) === 'active')
    .map(({ id, name }) => `${id} (${printable(name)})`);
  let whyAbove = 'above the last id of the former file';
  if (idsAbove !== undefined) whyAbove = 'because of --ids-above';
  else if (pastUnknown !== undefined) {
    whyAbove = `far above the last id of the backup (${lastIdOfBackup}): the ids in between may have been assigned since, and none is assigned twice`;
  }
  return [
    `Restored ${store} from ${file}, complete and checked; animals: ${animals}; ${former}.`,
    `Past: ${pastUnknown === undefined ? 'that of the former file' : `unknown, because ${pastUnknown}`}.`,
    `First new id: ${lastId + 1n}, ${whyAbove}.`,
    `Keys that are valid again: ${validAgain.length === 0 ? 'none' : validAgain.join(', ')}.`,
    `Next: ${validAgain.length === 0 ? '' : 'revoke those of these keys that were ended after the backup, then '}start the service.`,
    '',
  ].join('\n');
}

function idOrUndefined(text: string): bigint | undefined {
  const id = parseInt64(text);
  return id !== undefined && id >= 0n ? id : undefined;
}
