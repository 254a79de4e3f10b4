-- How far the import of each file has come. Written in the same transaction as the animals it tells of,
-- so that an import that was interrupted goes on exactly where it stopped.
CREATE TABLE imports (
  source   TEXT    NOT NULL PRIMARY KEY,
  position INTEGER NOT NULL,
  lines    INTEGER NOT NULL,
  imported INTEGER NOT NULL,
  skipped  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
