package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const connectionsMax = 10

const removeExpiredClaims = `
	DELETE FROM idempotency_keys WHERE expires_at <= now() AND (key = $1 OR key IN (
		SELECT key FROM idempotency_keys ORDER BY expires_at LIMIT 2))`

// Of two requests with one key at the same time the second fails, and finds the claim when it is repeated.
const createOnce = `
	WITH found AS (
		SELECT pet_id, fingerprint FROM idempotency_keys WHERE key = $4
	), created AS (
		INSERT INTO pets (name, category_id, status)
		SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT FROM found) RETURNING id
	), claimed AS (
		INSERT INTO idempotency_keys (key, fingerprint, pet_id, expires_at)
		SELECT $4, $5, id, $6 FROM created
	)
	SELECT id, $5::text, FALSE FROM created UNION ALL SELECT pet_id, fingerprint, TRUE FROM found`

// pgx prepares each statement once per connection.
type postgresStore struct {
	pool *pgxpool.Pool
}

func openPostgres(url string) (store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = connectionsMax
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	return &postgresStore{pool}, err
}

func (s *postgresStore) list(ctx context.Context, status string, after int64, limit int) ([]pet, error) {
	text, values := "SELECT id, name, category_id, status FROM pets WHERE id > $1 ORDER BY id LIMIT $2", []any{after, limit}
	if status != "" {
		text = "SELECT id, name, category_id, status FROM pets WHERE id > $1 AND status = $3 ORDER BY id LIMIT $2"
		values = append(values, status)
	}
	rows, err := s.pool.Query(ctx, text, values...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[pet])
}

func (s *postgresStore) find(ctx context.Context, id int64) (p pet, err error) {
	err = s.pool.QueryRow(ctx, "SELECT id, name, category_id, status FROM pets WHERE id = $1", id).
		Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errNotFound
	}
	return p, err
}

func (s *postgresStore) create(ctx context.Context, p *pet, c *claim) (replayed bool, err error) {
	if c == nil {
		return false, s.pool.QueryRow(ctx,
			"INSERT INTO pets (name, category_id, status) VALUES ($1, $2, $3) RETURNING id",
			p.Name, p.CategoryID, p.Status).Scan(&p.ID)
	}
	// One round trip and one transaction.
	batch := &pgx.Batch{}
	batch.Queue(removeExpiredClaims, c.key)
	batch.Queue(createOnce, p.Name, p.CategoryID, p.Status, c.key, c.fingerprint, time.Now().Add(claimRetention))
	results := s.pool.SendBatch(ctx, batch)
	if _, err = results.Exec(); err != nil {
		return false, errors.Join(err, results.Close())
	}
	var fingerprint string
	err = results.QueryRow().Scan(&p.ID, &fingerprint, &replayed)
	err = errors.Join(err, results.Close())
	if err == nil && fingerprint != c.fingerprint {
		err = errKeyReused
	}
	return replayed, err
}
