-- Which cached pages a commit may have changed. A create adds the newest animal, which no page before the last one has, so it
-- does not count: only what changes, removes or replaces an animal, or adds one below the highest id.
CREATE TABLE pet_changes (
  only_row INTEGER PRIMARY KEY DEFAULT 1 CHECK (only_row = 1),
  count    INTEGER NOT NULL
) STRICT;

INSERT INTO pet_changes (count) VALUES (0);

CREATE TRIGGER count_pet_update AFTER UPDATE ON pets BEGIN
  UPDATE pet_changes SET count = count + 1;
END;

CREATE TRIGGER count_pet_removal AFTER DELETE ON pets BEGIN
  UPDATE pet_changes SET count = count + 1;
END;

-- SQLite stores the highest id at the end of the statement, so this is the one before it (insert.c, sqlite3AutoincrementEnd).
CREATE TRIGGER count_pet_insert AFTER INSERT ON pets
WHEN NEW.id <= (SELECT seq FROM sqlite_sequence WHERE name = 'pets') BEGIN
  UPDATE pet_changes SET count = count + 1;
END;
