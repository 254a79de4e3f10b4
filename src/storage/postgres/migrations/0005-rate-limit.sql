-- What is left of the rate limit of each key, for all processes together. A process takes a portion and serves
-- requests from it without a query. UNLOGGED: no commit waits for the disk or a standby, and what a crash or a
-- failover loses is one window of counts.
CREATE UNLOGGED TABLE rate_limits (
  api_key_id text   COLLATE "C" PRIMARY KEY,
  ends_at    bigint NOT NULL, -- the end of the window, in milliseconds since 1970 by the clock of the database
  taken      bigint NOT NULL, -- the requests that processes have taken in this window
  portion    bigint NOT NULL  -- the last portion that was taken
) WITH (fillfactor = 50);
