-- The progress of each import. It is written in the same transaction as the animals it counts, so that an
-- interrupted import continues exactly where it stopped.
CREATE TABLE imports (
  source   TEXT    NOT NULL PRIMARY KEY,
  position INTEGER NOT NULL,
  lines    INTEGER NOT NULL,
  imported INTEGER NOT NULL,
  skipped  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
