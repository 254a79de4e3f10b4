import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { intercept } from '../../../harness/file-functions.ts';
import { fileFigures } from './file-figures.ts';

test('the free space of a disk is that for this user, without what is reserved for root', (t) => {
  const database = new DatabaseSync(':memory:', { returnArrays: true });
  t.after(() => database.close());
  database.exec('CREATE TABLE store_identity (last_backup_at)');
  intercept(t, 'statfsSync', (original, path) =>
    Object.assign(original(path), { bsize: 10, blocks: 9, bfree: 5, bavail: 3 }),
  );
  const figures = fileFigures(database, '/tmp/petstore.sqlite');
  const valueOf = (name: string) => figures.find((each) => each.name === name)?.values[0]?.value;
  assert.equal(valueOf('petstore_disk_size_bytes'), 90);
  assert.equal(valueOf('petstore_disk_free_bytes'), 30);
});
