-- How often each key has called a deprecated operation, by day in UTC, counted from 1970-01-01.
CREATE TABLE deprecated_calls (
  api_key_id TEXT    NOT NULL,
  day        INTEGER NOT NULL,
  calls      INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  PRIMARY KEY (api_key_id, day)
) STRICT, WITHOUT ROWID;
