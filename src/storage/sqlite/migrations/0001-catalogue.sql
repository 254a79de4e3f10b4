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
  last_used_at INTEGER
) STRICT;

-- Creates that must happen once. The primary key decides between concurrent duplicates.
CREATE TABLE idempotency_keys (
  api_key_id  TEXT    NOT NULL REFERENCES api_keys (id),
  key         TEXT    NOT NULL,
  fingerprint TEXT    NOT NULL,
  pet_id      INTEGER NOT NULL REFERENCES pets (id),
  expires_at  INTEGER NOT NULL,
  PRIMARY KEY (api_key_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);
