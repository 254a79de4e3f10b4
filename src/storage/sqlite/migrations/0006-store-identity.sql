-- Which store this is. The service writes the one row when it creates or first opens the store.
CREATE TABLE store_identity (
  only_row       INTEGER PRIMARY KEY DEFAULT 1 CHECK (only_row = 1),
  store_id       TEXT    NOT NULL,
  environment    TEXT    NOT NULL CHECK (environment IN ('production', 'staging')),
  created_at     INTEGER NOT NULL, -- milliseconds since 1970, as last_backup_at
  last_backup_at INTEGER           -- of a store: when its last backup was made; of a backup: when it was made
) STRICT;
