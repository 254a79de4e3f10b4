-- When each key last called a deprecated operation. The table deprecated_calls is no longer used; it stays,
-- because version 1.1.0 uses it.
ALTER TABLE api_keys ADD COLUMN last_deprecated_call_at INTEGER;

UPDATE api_keys
SET last_deprecated_call_at =
  (SELECT max(last_at) FROM deprecated_calls WHERE api_key_id = api_keys.id);
