import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { gauge, type Figure } from '../../ops/metrics.ts';

const LAST_BACKUP = `SELECT last_backup_at / 1000.0 FROM store_identity
                     WHERE last_backup_at IS NOT NULL`;

/** Figures of the file and its disk. Empty while they cannot be read. */
export function fileFigures(database: DatabaseSync, file: string): Figure[] {
  try {
    const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
    const { bavail, blocks, bsize } = statfsSync(dirname(file));
    const backups = database.prepare(LAST_BACKUP).all() as unknown as [seconds: number][];
    const backup = 'petstore_last_backup_timestamp_seconds';
    return [
      gauge('petstore_wal_size_bytes', 'Size of the log beside the file.', log?.size ?? 0),
      gauge('petstore_disk_size_bytes', 'Size of the disk of the file.', blocks * bsize),
      gauge('petstore_disk_free_bytes', 'Space left on this disk.', bavail * bsize),
      ...backups.map(([seconds]) => gauge(backup, 'Time of the last backup.', seconds)),
    ];
  } catch {
    return [];
  }
}
