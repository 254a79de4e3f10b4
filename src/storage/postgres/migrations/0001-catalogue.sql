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
  last_used_at bigint
);

-- Creates that must happen once. The primary key is what decides between concurrent duplicates.
CREATE TABLE idempotency_keys (
  api_key_id  text   COLLATE "C" NOT NULL REFERENCES api_keys (id),
  key         text   COLLATE "C" NOT NULL,
  fingerprint text   NOT NULL,
  pet_id      bigint NOT NULL REFERENCES pets (id),
  expires_at  bigint NOT NULL,
  PRIMARY KEY (api_key_id, key)
);

CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);
