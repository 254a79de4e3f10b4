-- A store of schema 8 as the program made it that first had this number (commit 865ea83), as `sqlite3 .dump` prints it.
PRAGMA journal_mode = WAL;
PRAGMA application_id = 1346720851;
PRAGMA user_version = 8;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE pets (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT    NOT NULL,
  category_id INTEGER NOT NULL,
  status      TEXT    NOT NULL CHECK (status IN ('available', 'pending', 'sold'))
) STRICT;
INSERT INTO pets VALUES(1,'Rex',7,'available');
INSERT INTO pets VALUES(2,'Tom',7,'available');
CREATE TABLE api_keys (
  id           TEXT    NOT NULL PRIMARY KEY,
  hash         TEXT    NOT NULL UNIQUE,
  name         TEXT    NOT NULL,
  scopes       TEXT    NOT NULL,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER,
  revoked_at   INTEGER,
  last_used_at INTEGER
, last_deprecated_call_at INTEGER, first_key_id TEXT) STRICT;
INSERT INTO api_keys VALUES('key_first','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','first key','pets:read pets:write',1795046400000,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE imports (
  source   TEXT    NOT NULL PRIMARY KEY,
  position INTEGER NOT NULL,
  lines    INTEGER NOT NULL,
  imported INTEGER NOT NULL,
  skipped  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS "idempotency_keys" (
  api_key_id  TEXT    NOT NULL REFERENCES api_keys (id),
  key         TEXT    NOT NULL,
  fingerprint TEXT    NOT NULL,
  pet_id      INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  PRIMARY KEY (api_key_id, key)
) STRICT, WITHOUT ROWID;
INSERT INTO idempotency_keys VALUES('key_first','k','f',2,4102444800000);
CREATE TABLE deprecated_calls (
  api_key_id TEXT    NOT NULL,
  day        INTEGER NOT NULL,
  calls      INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  PRIMARY KEY (api_key_id, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE store_identity (
  only_row       INTEGER PRIMARY KEY DEFAULT 1 CHECK (only_row = 1),
  store_id       TEXT    NOT NULL,
  environment    TEXT    NOT NULL CHECK (environment IN ('production', 'staging')),
  created_at     INTEGER NOT NULL, -- milliseconds since 1970, as last_backup_at
  last_backup_at INTEGER           -- of a store: when its last backup was made; of a backup: when it was made
, migrated_by TEXT) STRICT;
INSERT INTO store_identity VALUES(1,'FirstStore000000','production',1795046400000,NULL,'1.0.0');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('pets',2);
CREATE INDEX pets_by_status ON pets (status, id);
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);
COMMIT;
