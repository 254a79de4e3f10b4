-- How far the import of each file has come. Written in the same transaction as the animals it tells of,
-- so that an import that was interrupted goes on exactly where it stopped.
CREATE TABLE imports (
  source   text   COLLATE "C" PRIMARY KEY,
  position bigint NOT NULL,
  lines    bigint NOT NULL,
  imported bigint NOT NULL,
  skipped  bigint NOT NULL
);
