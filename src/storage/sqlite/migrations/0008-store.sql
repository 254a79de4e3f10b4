-- The whole store. Its number is 8, because seven schemas before it were never released.

-- Animals. With AUTOINCREMENT an id is never assigned twice, not even the highest one after its row was removed.
CREATE TABLE pets (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT    NOT NULL,
  category_id INTEGER NOT NULL,
  status      TEXT    NOT NULL CHECK (status IN ('available', 'pending', 'sold'))
) STRICT;

-- For a page of one status: seek to (status, last id), then read in order.
CREATE INDEX pets_by_status ON pets (status, id);

-- API keys. Times are milliseconds since 1970; scopes are separated by spaces; the key itself is not stored.
CREATE TABLE api_keys (
  id           TEXT    NOT NULL PRIMARY KEY,
  hash         TEXT    NOT NULL UNIQUE,
  name         TEXT    NOT NULL,
  scopes       TEXT    NOT NULL,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER,
  revoked_at   INTEGER,
  last_used_at INTEGER,
  last_deprecated_call_at INTEGER, -- when it last called a deprecated operation
  first_key_id TEXT                -- of a chain of rotations, whose keys share claims; NULL: the key itself
) STRICT;

-- The progress of each import. It is written in the same transaction as the animals it counts, so that an
-- interrupted import continues exactly where it stopped.
CREATE TABLE imports (
  source   TEXT    NOT NULL PRIMARY KEY,
  position INTEGER NOT NULL,
  lines    INTEGER NOT NULL,
  imported INTEGER NOT NULL,
  skipped  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Claims: creates that must happen once. The primary key decides between concurrent duplicates. A claim outlives its
-- animal: a repeated create gets the animal as it was created, also after it was removed.
CREATE TABLE idempotency_keys (
  api_key_id  TEXT    NOT NULL REFERENCES api_keys (id),
  key         TEXT    NOT NULL,
  fingerprint TEXT    NOT NULL,
  pet_id      INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  PRIMARY KEY (api_key_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);

-- Not used.
CREATE TABLE deprecated_calls (
  api_key_id TEXT    NOT NULL,
  day        INTEGER NOT NULL,
  calls      INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  PRIMARY KEY (api_key_id, day)
) STRICT, WITHOUT ROWID;

-- Which store this is. The service writes the one row when it creates the store.
CREATE TABLE store_identity (
  only_row       INTEGER PRIMARY KEY DEFAULT 1 CHECK (only_row = 1),
  store_id       TEXT    NOT NULL,
  environment    TEXT    NOT NULL CHECK (environment IN ('production', 'staging')),
  created_at     INTEGER NOT NULL, -- milliseconds since 1970, as last_backup_at
  last_backup_at INTEGER,          -- of a store: when its last backup was made; of a backup: when it was made
  migrated_by    TEXT              -- not used
) STRICT;
