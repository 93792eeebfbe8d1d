package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"backstop/lead"
)

// This file opens a ledger, and runs queries.

// Options tune a ledger. The zero Options are good.
type Options struct {
	// GroupWait is the longest that a write waits for others to share its commit. A
	// write that comes alone does not wait at all. Default 3 ms.
	GroupWait time.Duration
	// Now is the clock. Default [time.Now].
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.GroupWait == 0 {
		o.GroupWait = 3 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// A Ledger is an open ledger. It is safe for concurrent use.
type Ledger struct {
	dialect *dialect
	db      *sql.DB // reads
	now     func() time.Time
	writer  *writer
	persons hasher
	close   func() error
}

// Open opens the ledger that url names and brings its schema up to date:
//
//	sqlite://relative/path.db, sqlite:///absolute/path.db
//	postgres://user:password@host:port/database (or postgresql://)
//
// A SQLite file is created with its folder if it is missing, readable by its
// owner only. The file must be on a local disk: WAL does not work over a network.
// Errors never contain the password.
func Open(ctx context.Context, url string, o Options) (*Ledger, error) {
	d, err := dialectOf(url)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	write, read, err := d.open(ctx, url)
	if err != nil {
		return nil, err
	}
	closeDBs := func() error {
		if read == write {
			return write.Close()
		}
		return errors.Join(read.Close(), write.Close())
	}
	if err := migrate(ctx, d, url, write); err != nil {
		return nil, errors.Join(err, closeDBs())
	}
	persons, err := readHasher(ctx, session{on: write, dialect: d})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger: %w", err), closeDBs())
	}
	l := &Ledger{dialect: d, db: read, now: o.Now, writer: startWriter(write, d, o), persons: persons, close: closeDBs}
	if err := l.fillPersons(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger: %w", err), l.Close())
	}
	return l, nil
}

// Close finishes the writes that have begun and closes the database. Writes that
// come later fail with [ErrClosed].
func (l *Ledger) Close() error {
	if !l.writer.stop() {
		return nil
	}
	if err := l.close(); err != nil {
		return fmt.Errorf("close ledger: %w", err)
	}
	return nil
}

// Ping asks the database for an answer.
func (l *Ledger) Ping(ctx context.Context) error {
	if _, err := readOne(ctx, l.reader(), scanOne[int], "SELECT 1"); err != nil {
		return fmt.Errorf("ping ledger: %w", err)
	}
	return nil
}

// A session runs queries in the notation of [dialect] in one transaction, or
// each by itself.
type session struct {
	on interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}
	dialect *dialect
	alive   func()    // called after each statement; may be nil
	alone   bool      // no other write is under way
	at      lead.Time // when the write began; zero for reads
}

func (l *Ledger) reader() session { return session{on: l.db, dialect: l.dialect} }

func (s session) answered() {
	if s.alive != nil {
		s.alive()
	}
}

// snapshot runs f on one unchanging state of the ledger. f must not wait for anything
// but the database: the state is kept as long, and PostgreSQL ends a transaction that
// idles.
func (l *Ledger) snapshot(ctx context.Context, f func(session) error) error {
	opts := l.dialect.snapshot
	tx, err := l.db.BeginTx(ctx, &opts)
	if err != nil {
		return clean(err)
	}
	defer tx.Rollback() // it only read: there is nothing to lose
	return f(session{on: tx, dialect: l.dialect})
}

func (s session) exec(ctx context.Context, query string, args ...any) error {
	_, err := s.count(ctx, query, args...)
	return err
}

// count is exec that returns how many rows were changed.
func (s session) count(ctx context.Context, query string, args ...any) (int, error) {
	result, err := s.on.ExecContext(ctx, s.dialect.sql(query), args...)
	s.answered()
	if err != nil {
		return 0, clean(err)
	}
	n, err := result.RowsAffected()
	return int(n), clean(err)
}

// each calls scan on each row.
func (s session) each(ctx context.Context, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := s.on.QueryContext(ctx, s.dialect.sql(query), args...)
	if err != nil {
		return clean(err)
	}
	defer s.answered()
	defer rows.Close() // its error, if any, is also that of rows.Err
	for rows.Next() {
		if err := scan(rows); err != nil {
			return clean(err)
		}
	}
	return clean(rows.Err())
}

// readAll returns what scan makes of each row. All rows are in memory: page
// what can be many.
func readAll[T any](ctx context.Context, s session, scan func(*sql.Rows) (T, error), query string, args ...any) (all []T, err error) {
	err = s.each(ctx, func(r *sql.Rows) error {
		v, err := scan(r)
		all = append(all, v)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// readOne is readAll for a query with at most one row; with none, the error is
// [ErrNotFound].
func readOne[T any](ctx context.Context, s session, scan func(*sql.Rows) (T, error), query string, args ...any) (T, error) {
	all, err := readAll(ctx, s, scan, query, args...)
	switch {
	case err != nil:
		return *new(T), err
	case len(all) == 0:
		return *new(T), ErrNotFound
	}
	return all[0], nil
}

// scanOne reads a row of one column.
func scanOne[T any](r *sql.Rows) (v T, err error) { return v, r.Scan(&v) }

// jsonText encodes v as a JSON parameter or column.
func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode for the ledger: %w", err)
	}
	return string(b), nil
}

// plain is a text as it is stored: without NULs, which PostgreSQL cannot keep, and
// with each byte that is not UTF-8 replaced, as JSON would do.
func plain(s string) string {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return strings.ReplaceAll(s, "\x00", "")
}

// stamp is a time as the ledger stores it: milliseconds, or NULL for the zero
// time. It is the target of a scan.
type stamp struct{ *lead.Time }

// Scan implements sql.Scanner.
func (s stamp) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*s.Time = lead.Time{}
	case int64:
		*s.Time = lead.FromMillis(v)
	default:
		return fmt.Errorf("a time is stored as %T, not as an integer", v)
	}
	return nil
}

// millis is a time as a JSON value for the ledger: milliseconds, or null.
func millis(t lead.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	ms := t.Millis()
	return &ms
}
