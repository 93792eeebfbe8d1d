package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// This file removes from the database's own files what was erased (step 4 in doc.go).

// How the writer rids the database's log of what was erased.
const (
	scrubPause   = time.Second            // from one try to the next
	scrubMaxWait = 100 * time.Millisecond // for readers
)

// scrub removes what was erased from the database's log. If somebody was reading, it
// is tried again after later writes, and when the ledger is closed. A purge is tried
// once.
func (w *writer) scrub() {
	if !w.unscrubbed || w.dialect.scrub == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.timeout)
	defer cancel()
	done, err := w.dialect.scrub(ctx, w.db, w.unpurged, scrubMaxWait)
	w.scrubbed, w.unpurged = time.Now(), false
	// An error is that of a file that cannot be written, which the next write reports.
	w.unscrubbed = err != nil || !done
}

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
func scrubSQLite(ctx context.Context, db *sql.DB, purge bool, maxWait time.Duration) (done bool, err error) {
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
	setMaxWait := func(d time.Duration) error {
		_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", d.Milliseconds()))
		return err
	}
	if err := setMaxWait(maxWait); err != nil {
		return false, err
	}
	var busy, frames, moved int
	err = conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
	return err == nil && busy == 0, errors.Join(err, setMaxWait(sqliteBusy))
}
