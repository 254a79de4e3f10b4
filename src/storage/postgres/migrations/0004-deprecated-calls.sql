-- How often each key has called a deprecated operation, by day in UTC, counted from 1970-01-01.
CREATE TABLE deprecated_calls (
  api_key_id text   COLLATE "C" NOT NULL,
  day        bigint NOT NULL,
  calls      bigint NOT NULL,
  last_at    bigint NOT NULL,
  PRIMARY KEY (api_key_id, day)
);
