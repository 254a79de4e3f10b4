-- The version of the program that last migrated the store, for the message of one that is too old for it.
ALTER TABLE store_identity ADD COLUMN migrated_by text;
