-- The id of the first key of a chain of rotations: its keys share the claims of creates. NULL: the key itself.
ALTER TABLE api_keys ADD COLUMN first_key_id TEXT;
