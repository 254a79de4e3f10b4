package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const connectionsMax = 10

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

func (s *postgresStore) create(ctx context.Context, p *pet) error {
	return s.pool.QueryRow(ctx,
		"INSERT INTO pets (name, category_id, status) VALUES ($1, $2, $3) RETURNING id",
		p.Name, p.CategoryID, p.Status).Scan(&p.ID)
}
