-- A claim outlives its animal: a repeated create gets the animal as it was created, also after it was removed.
-- SQLite cannot drop the reference to pets from a table, so the table is built again without it.
CREATE TABLE claims (
  api_key_id  TEXT    NOT NULL REFERENCES api_keys (id),
  key         TEXT    NOT NULL,
  fingerprint TEXT    NOT NULL,
  pet_id      INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  PRIMARY KEY (api_key_id, key)
) STRICT, WITHOUT ROWID;

INSERT INTO claims (api_key_id, key, fingerprint, pet_id, expires_at)
SELECT api_key_id, key, fingerprint, pet_id, expires_at FROM idempotency_keys;

DROP TABLE idempotency_keys;
ALTER TABLE claims RENAME TO idempotency_keys;
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);
