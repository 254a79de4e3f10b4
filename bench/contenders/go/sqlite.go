package main

import (
	"context"
	"database/sql"
	"errors"
	"runtime"

	_ "github.com/mattn/go-sqlite3"
)

// One connection writes and the others read, because a SQLite file has one writer.
type sqliteStore struct {
	lists, listsOfStatus, finds, creates *sql.Stmt
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
	s := &sqliteStore{}
	for _, prepared := range []struct {
		statement **sql.Stmt
		database  *sql.DB
		text      string
	}{
		{&s.creates, writer, "INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)"},
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

func (s *sqliteStore) create(ctx context.Context, p *pet) error {
	result, err := s.creates.ExecContext(ctx, p.Name, p.CategoryID, p.Status)
	if err != nil {
		return err
	}
	p.ID, err = result.LastInsertId()
	return err
}
