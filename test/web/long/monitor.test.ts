// What a person must do, as the monitor and the console say it.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { needs } from '../../../harness/needs.ts';
import { canMount, mountSmallDisk } from '../../../harness/small-disk.ts';
import { temporaryFolder } from '../../../harness/temporary-folder.ts';
import { assertLooks } from '../looks.ts';
import { keepPicture, Stage, test, visit } from '../stage.ts';

const NEEDS_MOUNT = needs('the right to mount a small disk', canMount());
const DISK_KIBIBYTES = 8 * 1024;
const THREE_DAYS_MS = 3 * 86_400_000;

/** Leaves no room, and returns the file that takes it. */
function fillDisk(disk: string): string {
  const file = join(disk, 'filler');
  const block = Buffer.alloc(4096);
  try {
    for (;;) writeFileSync(file, block, { flag: 'a' });
  } catch {
    return file;
  }
}

test(
  'the monitor and the console say what a person must do: all is well, a full disk, room again, an old backup',
  showStates,
  NEEDS_MOUNT,
);

async function showStates(t: TestContext): Promise<void> {
  const { disk, unmount } = mountSmallDisk(DISK_KIBIBYTES);
  t.after(unmount);
  const stage = await Stage.open(t, { flags: ['--admin-port', '0', '--data', disk] });
  const client = stage.client();
  for (const name of ['Bella', 'Rex', 'Luna']) await client.pets.create({ name, categoryId: 1n });
  const backups = join(temporaryFolder(t), 'backups');
  mkdirSync(backups);
  await stage.run(['backup', backups, '--keep', '3', '--data', disk]);
  const monitor = (await visit(t, stage, { site: stage.admin })).page;
  const console = (await visit(t, stage, { key: stage.key })).page;
  const verdict = monitor.locator('.verdict');
  const heading = (name: string) => verdict.getByRole('heading', { name });
  await heading('The service is ready').waitFor();
  await verdict.getByText('under a minute old').waitFor();
  await assertLooks(monitor, 'monitor');

  const filler = fillDisk(disk);
  await console.getByLabel('Name', { exact: true }).fill('Nemo');
  await console.getByLabel('Category', { exact: true }).fill('3');
  await console.getByRole('button', { name: 'Add animal' }).click();
  await console
    .getByRole('alert')
    .getByText('The store cannot take new animals or changes at the moment', { exact: true })
    .waitFor();
  await assertLooks(console, 'console-full-disk');
  await heading('The store cannot take new animals').waitFor();
  await heading('The disk of the store is nearly full').waitFor();
  await verdict.getByText(/ UTC: The store could not take new animals\.$/).waitFor();
  await assertLooks(monitor, 'monitor-full-disk');
  rmSync(filler);
  await console.getByRole('button', { name: 'Try again' }).click();
  await console.getByText('Nemo was added').waitFor();
  await heading('The service is ready').waitFor();

  using database = new DatabaseSync(join(disk, 'production', 'petstore.sqlite'));
  const old = Date.now() - THREE_DAYS_MS;
  database.prepare('UPDATE store_identity SET last_backup_at = ?').run(old);
  await heading('The newest backup is older than two days').waitFor();
  await keepPicture(monitor, 'monitor-old-backup');
}
