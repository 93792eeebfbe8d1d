package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// purgeTimeout bounds the time for which a purge keeps others from writing: shorter
// than the time for which they wait (sqliteBusy).
const purgeTimeout = 8 * time.Second

// scrubSQLite moves the whole log into the file and empties it
// (https://www.sqlite.org/pragma.html#pragma_wal_checkpoint): until then it has the
// pages of before. db must have one connection at most.
//
// secure_delete has overwritten what was deleted. But when SQLite moves a row from
// one page to another it leaves a copy in the unused space of the first, which
// nothing overwrites, so a purge rebuilds the file (https://www.sqlite.org/lang_vacuum.html).
func scrubSQLite(ctx context.Context, db *sql.DB, purge bool, patience time.Duration) (done bool, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if purge {
		limited, cancel := context.WithTimeout(ctx, purgeTimeout)
		_, _ = conn.ExecContext(limited, "VACUUM") // a file that is too large for it stays as it is
		cancel()
	}
	setPatience := func(d time.Duration) error {
		_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", d.Milliseconds()))
		return err
	}
	if err := setPatience(patience); err != nil {
		return false, err
	}
	var busy, frames, moved int
	err = conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
	return err == nil && busy == 0, errors.Join(err, setPatience(sqliteBusy))
}
