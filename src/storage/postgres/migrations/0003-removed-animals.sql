-- A claim outlives its animal: a repeated create gets the animal as it was created, also after it was removed.
ALTER TABLE idempotency_keys DROP CONSTRAINT IF EXISTS idempotency_keys_pet_id_fkey;
