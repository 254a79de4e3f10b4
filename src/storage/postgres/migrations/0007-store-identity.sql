-- Which store this is. The service writes the one row when it creates or first opens the store.
CREATE TABLE store_identity (
  only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  store_id    text    NOT NULL,
  environment text    NOT NULL CHECK (environment IN ('production', 'staging')),
  created_at  bigint  NOT NULL -- milliseconds since 1970
);
