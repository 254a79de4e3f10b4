package main

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"time"

	_ "github.com/mattn/go-sqlite3"
)

// One connection writes and the others read, because a SQLite file has one writer.
type sqliteStore struct {
	writer                                   *sql.DB
	lists, listsOfStatus, finds, creates     *sql.Stmt
	findsClaim, removesExpiredClaims, claims *sql.Stmt
}

func openSqlite(file string) (store, error) {
	dsn := "file:" + file + "?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000"
	writer, err := sql.Open("sqlite3", dsn)
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	readers, err := sql.Open("sqlite3", dsn+"&_query_only=true")
	if err != nil {
		return nil, err
	}
	connections := max(4, runtime.NumCPU())
	readers.SetMaxOpenConns(connections)
	readers.SetMaxIdleConns(connections)
	s := &sqliteStore{writer: writer}
	for _, prepared := range []struct {
		statement **sql.Stmt
		database  *sql.DB
		text      string
	}{
		{&s.creates, writer, "INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)"},
		{&s.findsClaim, writer, "SELECT fingerprint, pet_id FROM idempotency_keys WHERE api_key_id = '' AND key = ? AND expires_at > ?"},
		{&s.removesExpiredClaims, writer, "DELETE FROM idempotency_keys WHERE (api_key_id, key) IN (SELECT api_key_id, key FROM idempotency_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT 2)"},
		{&s.claims, writer, "INSERT OR REPLACE INTO idempotency_keys (api_key_id, key, fingerprint, pet_id, expires_at) VALUES ('', ?, ?, ?, ?)"},
		{&s.finds, readers, "SELECT id, name, category_id, status FROM pets WHERE id = ?"},
		{&s.lists, readers, "SELECT id, name, category_id, status FROM pets WHERE id > ? ORDER BY id LIMIT ?"},
		{&s.listsOfStatus, readers, "SELECT id, name, category_id, status FROM pets WHERE id > ? AND status = ? ORDER BY id LIMIT ?"},
	} {
		if *prepared.statement, err = prepared.database.Prepare(prepared.text); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *sqliteStore) list(ctx context.Context, status string, after int64, limit int) ([]pet, error) {
	statement, values := s.lists, []any{after, limit}
	if status != "" {
		statement, values = s.listsOfStatus, []any{after, status, limit}
	}
	rows, err := statement.QueryContext(ctx, values...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	pets := make([]pet, 0, limit)
	for rows.Next() {
		var p pet
		if err := rows.Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status); err != nil {
			return nil, err
		}
		pets = append(pets, p)
	}
	return pets, rows.Err()
}

func (s *sqliteStore) find(ctx context.Context, id int64) (p pet, err error) {
	err = s.finds.QueryRowContext(ctx, id).Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNotFound
	}
	return p, err
}

func (s *sqliteStore) create(ctx context.Context, p *pet, c *claim) (bool, error) {
	if c == nil {
		return false, insert(ctx, s.creates, p)
	}
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	now := time.Now()
	var fingerprint string
	err = tx.StmtContext(ctx, s.findsClaim).QueryRowContext(ctx, c.key, now.UnixMilli()).Scan(&fingerprint, &p.ID)
	if err == nil && fingerprint != c.fingerprint {
		return false, errKeyReused
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return err == nil, err
	}
	if err = insert(ctx, tx.StmtContext(ctx, s.creates), p); err != nil {
		return false, err
	}
	if _, err = tx.StmtContext(ctx, s.removesExpiredClaims).ExecContext(ctx, now.UnixMilli()); err != nil {
		return false, err
	}
	expiresAt := now.Add(claimRetention).UnixMilli()
	if _, err = tx.StmtContext(ctx, s.claims).ExecContext(ctx, c.key, c.fingerprint, p.ID, expiresAt); err != nil {
		return false, err
	}
	return false, tx.Commit()
}

func insert(ctx context.Context, creates *sql.Stmt, p *pet) error {
	result, err := creates.ExecContext(ctx, p.Name, p.CategoryID, p.Status)
	if err != nil {
		return err
	}
	p.ID, err = result.LastInsertId()
	return err
}
