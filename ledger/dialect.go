package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// A dialect is what differs between the databases. Queries are written in this
// notation, which [dialect.sql] turns into the database's own:
//
//	$1                           a parameter
//	{list $1}                    a subquery over a JSON array of strings
//	{rows $1: a text, b bigint}  a table over a JSON array of objects, with the
//	                             column types text, bigint, boolean, double
//	                             precision and bytes (given in hexadecimal)
//	{for update}                 locks the rows read until the transaction ends
//
// A list or table as one JSON parameter has no limit on its length, needs one
// round trip, and gives one statement text for every length.
type dialect struct {
	name      string
	goose     goose.Dialect
	list      string
	rows      func(param string, columns []column) string
	forUpdate string
	parameter string        // stands before a parameter's number
	beside    string        // begins a write that other processes may write beside; may be empty
	alone     string        // begins a write that must be alone; may be empty
	snapshot  sql.TxOptions // a transaction in which every query sees the same state
	lock      func(url string) migrationLock
	open      func(ctx context.Context, url string) (write, read *sql.DB, err error)
	// scrub removes from the database's log what is no longer in the database, unless
	// others need it for longer than maxWait; nil if that cannot be done. With purge it
	// first rebuilds the database, if that is quick.
	scrub      func(ctx context.Context, db *sql.DB, purge bool, maxWait time.Duration) (done bool, err error)
	translated sync.Map // query in the notation: query of the database
}

type column struct{ name, kind string }

var notation = regexp.MustCompile(`\{list (\$\d+)\}|\{rows (\$\d+): ([^}]+)\}|\{for update\}`)

// sql turns a query in the notation above into one that the database reads.
func (d *dialect) sql(query string) string {
	if q, ok := d.translated.Load(query); ok {
		return q.(string)
	}
	q := notation.ReplaceAllStringFunc(query, func(s string) string {
		m := notation.FindStringSubmatch(s)
		switch {
		case m[1] != "":
			return "(" + strings.ReplaceAll(d.list, "%", m[1]) + ")"
		case m[2] != "":
			var columns []column
			for _, c := range strings.Split(m[3], ",") {
				name, kind, _ := strings.Cut(strings.TrimSpace(c), " ")
				columns = append(columns, column{name, kind})
			}
			return "(" + d.rows(m[2], columns) + ")"
		default:
			return d.forUpdate
		}
	})
	q = strings.ReplaceAll(q, "$", d.parameter)
	d.translated.Store(query, q)
	return q
}

// dialectOf picks the dialect by the URL's scheme. Its errors do not repeat the
// URL, which may hold a password.
func dialectOf(url string) (*dialect, error) {
	scheme, _, ok := strings.Cut(url, "://")
	switch {
	case ok && scheme == "sqlite":
		return onSQLite, nil
	case ok && (scheme == "postgres" || scheme == "postgresql"):
		return onPostgres, nil
	}
	return nil, fmt.Errorf("%w has no known scheme: use sqlite://path/to/ledger.db or postgres://user@host/database", ErrURL)
}

var onSQLite = &dialect{
	name:      "sqlite",
	goose:     goose.DialectSQLite3,
	parameter: "?",
	list:      "SELECT value FROM json_each(%)",
	rows: func(param string, columns []column) string {
		var exprs []string
		for _, c := range columns {
			e := "value->>'" + c.name + "'"
			if c.kind == "bytes" {
				e = "unhex(" + e + ")"
			}
			exprs = append(exprs, e+" AS "+c.name)
		}
		return "SELECT " + strings.Join(exprs, ", ") + " FROM json_each(" + param + ")"
	},
	snapshot: sql.TxOptions{ReadOnly: true}, // WAL: a transaction sees what its first read saw
	lock:     func(url string) migrationLock { return fileLock(strings.TrimPrefix(url, "sqlite://")) },
	open:     openSQLite,
	scrub:    scrubSQLite, // and every write is alone anyway
}

// sqliteBusy is how long a connection waits for another process's transaction.
// Transactions are short; this is for a machine that is swapping.
const sqliteBusy = 10 * time.Second

// sqliteReaders bounds the reading connections: each is a few file handles.
const sqliteReaders = 8

// openSQLite opens one connection that writes, since SQLite has one writer at a
// time anyway, and a pool that reads beside it (https://www.sqlite.org/wal.html).
// BEGIN IMMEDIATE takes the write lock at once, so that a transaction never has
// to upgrade, which could fail with SQLITE_BUSY without any waiting. What is deleted
// is overwritten (https://www.sqlite.org/pragma.html#pragma_secure_delete).
func openSQLite(ctx context.Context, rawURL string) (write, read *sql.DB, err error) {
	path, err := createFile(strings.TrimPrefix(rawURL, "sqlite://"))
	if err != nil {
		return nil, nil, err
	}
	if write, err = sql.Open("sqlite", sqliteDSN(path, "_txlock=immediate", "_pragma=journal_mode(WAL)", "_pragma=synchronous(FULL)", "_pragma=secure_delete(1)")); err != nil {
		return nil, nil, fmt.Errorf("open ledger file: %w", err)
	}
	if read, err = sql.Open("sqlite", sqliteDSN(path, "_pragma=query_only(1)")); err != nil {
		_ = write.Close() // nothing was written; the error to report is the other one
		return nil, nil, fmt.Errorf("open ledger file: %w", err)
	}
	write.SetMaxOpenConns(1)
	read.SetMaxOpenConns(sqliteReaders)
	read.SetMaxIdleConns(sqliteReaders)
	return write, read, nil
}

// sqliteDSN names the file as a URI, so that no character of the path is taken
// for a parameter. The path is absolute, so it cannot be ":memory:" either.
func sqliteDSN(path string, params ...string) string {
	params = append([]string{
		fmt.Sprintf("_pragma=busy_timeout(%d)", sqliteBusy.Milliseconds()), "_pragma=foreign_keys(1)",
	}, params...)
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + strings.Join(params, "&")
}

// creating keeps the handles of this process from creating a file while another
// one uses it: closing any descriptor of a file drops the process's POSIX locks
// on it, SQLite's among them (https://www.sqlite.org/howtocorrupt.html, 2.2).
var creating sync.Mutex

// createFile makes an empty file that only the user can read, with its folder,
// unless it is there. SQLite gives its companions (-wal, -shm) the same mode.
func createFile(path string) (abs string, err error) {
	if path == "" {
		return "", fmt.Errorf("%w names no file: use sqlite://path/to/ledger.db", ErrURL)
	}
	if abs, err = filepath.Abs(path); err != nil {
		return "", fmt.Errorf("find ledger file: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
		return "", fmt.Errorf("create the ledger's folder: %w", err)
	}
	creating.Lock()
	defer creating.Unlock()
	f, err := os.OpenFile(abs, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case os.IsExist(err):
		return abs, nil
	case err != nil:
		return "", fmt.Errorf("create ledger file: %w", err)
	}
	if err := f.Close(); err != nil {
		return "", fmt.Errorf("create ledger file: %w", err)
	}
	return abs, nil
}

var onPostgres = &dialect{
	name:      "postgres",
	goose:     goose.DialectPostgres,
	parameter: "$",
	list:      "SELECT jsonb_array_elements_text(%::jsonb)",
	rows: func(param string, columns []column) string {
		var exprs, defs []string
		for _, c := range columns {
			e, kind := c.name, c.kind
			if kind == "bytes" {
				e, kind = "decode("+c.name+", 'hex') AS "+c.name, "text"
			}
			exprs, defs = append(exprs, e), append(defs, c.name+" "+kind)
		}
		return "SELECT " + strings.Join(exprs, ", ") + " FROM jsonb_to_recordset(" + param + "::jsonb) AS x(" + strings.Join(defs, ", ") + ")"
	},
	forUpdate: "FOR UPDATE",
	// These modes are chosen because the first goes with itself but not with the
	// second, and none of them keeps anybody from reading
	// (https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-TABLES).
	beside:   "LOCK TABLE suppressions IN ROW SHARE MODE",
	alone:    "LOCK TABLE suppressions IN EXCLUSIVE MODE",
	snapshot: sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead},
	lock:     func(string) migrationLock { return advisoryLock{} },
	open:     openPostgres,
}

// postgresConns bounds the connections of one process: its writer's and its
// readers'. Servers allow 100 in all by default.
const postgresConns = 10

func openPostgres(ctx context.Context, rawURL string) (write, read *sql.DB, err error) {
	cfg, err := pgx.ParseConfig(rawURL)
	if err != nil {
		// The parser's error may quote the URL with its password.
		return nil, nil, fmt.Errorf("%w cannot be read: use postgres://user:password@host:port/database, with special characters of the password percent-encoded", ErrURL)
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 5 * time.Second
	}
	if cfg.RuntimeParams["idle_in_transaction_session_timeout"] == "" {
		// A process that is stopped in the middle of a write must not hold its rows.
		cfg.RuntimeParams["idle_in_transaction_session_timeout"] = "10s"
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "backstop"
	}
	db := stdlib.OpenDB(*cfg)
	db.SetMaxOpenConns(postgresConns)
	db.SetMaxIdleConns(postgresConns)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db, db, nil
}
