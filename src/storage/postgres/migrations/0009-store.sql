-- The whole store. Its number is 9, because eight schemas before it were never released.

-- Animals. Their ids come from pet_counter below, never from a sequence: a sequence hands out ids before
-- their transactions commit, and a reader could pass a slower, lower one.
CREATE TABLE pets (
  id          bigint PRIMARY KEY,
  name        text   NOT NULL,
  category_id bigint NOT NULL,
  status      text   NOT NULL CHECK (status IN ('available', 'pending', 'sold'))
);

-- Serves a page of one status: seek to (status, last id), read on.
CREATE INDEX pets_by_status ON pets (status, id);

-- The last id that was given. Every create updates this one row and so holds its lock until it has
-- committed: the order of ids is the order of commits.
CREATE TABLE pet_counter (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  last_id  bigint  NOT NULL
) WITH (fillfactor = 10);
INSERT INTO pet_counter (last_id) VALUES (0);

-- API keys. Times are milliseconds since 1970; scopes are separated by spaces; the key itself is not here.
CREATE TABLE api_keys (
  id           text   COLLATE "C" PRIMARY KEY,
  hash         text   COLLATE "C" NOT NULL UNIQUE,
  name         text   NOT NULL,
  scopes       text   NOT NULL,
  created_at   bigint NOT NULL,
  expires_at   bigint,
  revoked_at   bigint,
  last_used_at bigint,
  last_deprecated_call_at bigint, -- when it last called a deprecated operation
  first_key_id text COLLATE "C"   -- of a chain of rotations, whose keys share claims; NULL: the key itself
);

-- Claims: creates that must happen once. The primary key is what decides between concurrent duplicates. A claim
-- outlives its animal: a repeated create gets the animal as it was created, also after it was removed.
CREATE TABLE idempotency_keys (
  api_key_id  text   COLLATE "C" NOT NULL REFERENCES api_keys (id),
  key         text   COLLATE "C" NOT NULL,
  fingerprint text   NOT NULL,
  pet_id      bigint NOT NULL,
  expires_at  bigint NOT NULL,
  PRIMARY KEY (api_key_id, key)
);

CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);

-- How far the import of each file has come. Written in the same transaction as the animals it tells of,
-- so that an import that was interrupted goes on exactly where it stopped.
CREATE TABLE imports (
  source   text   COLLATE "C" PRIMARY KEY,
  position bigint NOT NULL,
  lines    bigint NOT NULL,
  imported bigint NOT NULL,
  skipped  bigint NOT NULL
);

-- Not used.
CREATE TABLE deprecated_calls (
  api_key_id text   COLLATE "C" NOT NULL,
  day        bigint NOT NULL,
  calls      bigint NOT NULL,
  last_at    bigint NOT NULL,
  PRIMARY KEY (api_key_id, day)
);

-- What is left of the rate limit of each key, for all processes together. A process takes a portion and serves
-- requests from it without a query. UNLOGGED: no commit waits for the disk or a standby, and what a crash or a
-- failover loses is one window of counts.
CREATE UNLOGGED TABLE rate_limits (
  api_key_id text   COLLATE "C" PRIMARY KEY,
  ends_at    bigint NOT NULL, -- the end of the window, in milliseconds since 1970 by the clock of the database
  taken      bigint NOT NULL, -- the requests that processes have taken in this window
  portion    bigint NOT NULL  -- the last portion that was taken
) WITH (fillfactor = 50);

-- Which store this is. The service writes the one row when it creates the store.
CREATE TABLE store_identity (
  only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  store_id    text    NOT NULL,
  environment text    NOT NULL CHECK (environment IN ('production', 'staging')),
  created_at  bigint  NOT NULL, -- milliseconds since 1970
  migrated_by text              -- not used
);
