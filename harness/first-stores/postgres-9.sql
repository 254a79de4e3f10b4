-- A database of schema 9 as the program made it that first had this number (commit 865ea83): its nine migrations, and
-- what it wrote around them.
CREATE TABLE petstore_schema (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  version  integer NOT NULL);
INSERT INTO petstore_schema (version) VALUES (9);
CREATE TABLE pets (
  id          bigint PRIMARY KEY,
  name        text   NOT NULL,
  category_id bigint NOT NULL,
  status      text   NOT NULL CHECK (status IN ('available', 'pending', 'sold'))
);

CREATE INDEX pets_by_status ON pets (status, id);

CREATE TABLE pet_counter (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  last_id  bigint  NOT NULL
) WITH (fillfactor = 10);
INSERT INTO pet_counter (last_id) VALUES (0);

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

CREATE TABLE idempotency_keys (
  api_key_id  text   COLLATE "C" NOT NULL REFERENCES api_keys (id),
  key         text   COLLATE "C" NOT NULL,
  fingerprint text   NOT NULL,
  pet_id      bigint NOT NULL REFERENCES pets (id),
  expires_at  bigint NOT NULL,
  PRIMARY KEY (api_key_id, key)
);

CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);
CREATE TABLE imports (
  source   text   COLLATE "C" PRIMARY KEY,
  position bigint NOT NULL,
  lines    bigint NOT NULL,
  imported bigint NOT NULL,
  skipped  bigint NOT NULL
);
ALTER TABLE idempotency_keys DROP CONSTRAINT IF EXISTS idempotency_keys_pet_id_fkey;
CREATE TABLE deprecated_calls (
  api_key_id text   COLLATE "C" NOT NULL,
  day        bigint NOT NULL,
  calls      bigint NOT NULL,
  last_at    bigint NOT NULL,
  PRIMARY KEY (api_key_id, day)
);
CREATE UNLOGGED TABLE rate_limits (
  api_key_id text   COLLATE "C" PRIMARY KEY,
  ends_at    bigint NOT NULL, -- the end of the window, in milliseconds since 1970 by the clock of the database
  taken      bigint NOT NULL, -- the requests that processes have taken in this window
  portion    bigint NOT NULL  -- the last portion that was taken
) WITH (fillfactor = 50);
ALTER TABLE api_keys ADD COLUMN last_deprecated_call_at bigint;

UPDATE api_keys
SET last_deprecated_call_at =
  (SELECT max(last_at) FROM deprecated_calls WHERE api_key_id = api_keys.id);
CREATE TABLE store_identity (
  only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  store_id    text    NOT NULL,
  environment text    NOT NULL CHECK (environment IN ('production', 'staging')),
  created_at  bigint  NOT NULL -- milliseconds since 1970
);
ALTER TABLE api_keys ADD COLUMN first_key_id text COLLATE "C";
ALTER TABLE store_identity ADD COLUMN migrated_by text;
INSERT INTO store_identity (store_id, environment, created_at, migrated_by)
VALUES ('FirstStore000000', 'production', 1795046400000, '1.0.0');
INSERT INTO api_keys (id, hash, name, scopes, created_at)
VALUES ('key_first', repeat('a', 64), 'first key', 'pets:read pets:write', 1795046400000);
INSERT INTO pets VALUES (1, 'Rex', 7, 'available'), (2, 'Tom', 7, 'available');
INSERT INTO idempotency_keys VALUES ('key_first', 'k', 'f', 2, 4102444800000);
UPDATE pet_counter SET last_id = 2;
