package ledger

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// A migrationLock is held by one process in the fleet while it migrates. The
// database itself lets go of it when the process dies.
type migrationLock interface {
	// with runs f under the lock.
	with(ctx context.Context, db *sql.DB, f func() error) error
}

// migrate brings the schema up to date. Any number of processes may do it at
// once: one migrates, the others wait and find it done.
func migrate(ctx context.Context, d *dialect, url string, db *sql.DB) error {
	err := d.lock(url).with(ctx, db, func() error {
		dir, err := fs.Sub(migrations, "migrations/"+d.name)
		if err != nil {
			return err
		}
		p, err := goose.NewProvider(d.goose, db, dir, goose.WithDisableGlobalRegistry(true))
		if err != nil {
			return err
		}
		// goose itself passes over versions that it does not know.
		has, known, err := p.GetVersions(ctx)
		if err != nil {
			return err
		}
		if has > known {
			return fmt.Errorf("it was written by a newer version of this program (schema %d; this one knows %d): update the program", has, known)
		}
		_, err = p.Up(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("migrate the ledger: %w", clean(err))
	}
	return nil
}

// advisoryLock is a PostgreSQL session lock
// (https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS).
type advisoryLock struct{}

// migrationLockID is an arbitrary number that only this ledger uses.
const migrationLockID = 0x6261636b73746f70 // "backstop"

func (advisoryLock) with(ctx context.Context, db *sql.DB, f func() error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(migrationLockID)); err != nil {
		return fmt.Errorf("wait for the migration lock: %w", err)
	}
	defer func() {
		_, unlockErr := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(migrationLockID))
		err = errors.Join(err, unlockErr)
	}()
	return f()
}

// fileLock is an exclusive transaction on a database of its own beside the
// ledger's. It cannot be one on the ledger itself, because neither migrations nor
// the change to WAL mode, which does not wait for locks, can run inside it.
type fileLock string

func (path fileLock) with(ctx context.Context, db *sql.DB, f func() error) (err error) {
	abs, err := createFile(string(path) + ".lock")
	if err != nil {
		return err
	}
	lock, err := sql.Open("sqlite", sqliteDSN(abs, "_txlock=exclusive"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	tx, err := lock.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("wait for the migration lock: %w", err)
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }() // it only held the lock
	return f()
}
