import type { DatabaseSync } from 'node:sqlite';
import { API_KEY_COLUMNS, IMPORT_COLUMNS, PET_COLUMNS } from '../rows.ts';

/** SQLite plans a statement anew whenever a bare parameter of LIMIT is bound, which costs a third as much as the page. */
const COUNT = '? + 0';

/** An animal as petJson writes it: one text is read faster than four values are. */
const PET_JSON = `json_object('id', id, 'name', name, 'categoryId', category_id, 'status', status)`;

/** Every statement that only reads. */
export type Reads = ReturnType<typeof prepareReads>;

export function prepareReads(database: DatabaseSync) {
  return {
    pet: database.prepare(`SELECT ${PET_COLUMNS} FROM pets WHERE id = ?`),
    pets: database.prepare(
      `SELECT ${PET_COLUMNS} FROM pets WHERE id > ? ORDER BY id LIMIT ${COUNT}`,
    ),
    petsOfStatus: database.prepare(
      `SELECT ${PET_COLUMNS} FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ${COUNT}`,
    ),
    page: database.prepare(`SELECT ${PET_JSON} FROM pets WHERE id > ? ORDER BY id LIMIT ${COUNT}`),
    pageOfStatus: database.prepare(
      `SELECT ${PET_JSON} FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ${COUNT}`,
    ),
    import: database.prepare(`SELECT ${IMPORT_COLUMNS} FROM imports WHERE source = ?`),
    apiKey: database.prepare(`SELECT ${API_KEY_COLUMNS} FROM api_keys WHERE hash = ?`),
    apiKeys: database.prepare(`SELECT ${API_KEY_COLUMNS} FROM api_keys ORDER BY created_at, id`),
    version: database.prepare('PRAGMA data_version'),
  };
}
