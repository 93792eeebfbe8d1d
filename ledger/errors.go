package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"backstop/clock"
)

var (
	// ErrNotFound is the error for a lead that the ledger does not have.
	ErrNotFound = errors.New("not in the ledger")
	// ErrURL is the error of [Open] for a URL that names no ledger, whatever runs where.
	ErrURL = errors.New("ledger URL")
	// ErrClosed is the error of a write after [Ledger.Close].
	ErrClosed = errors.New("the ledger is closed")
	// ErrStale is the error of a fenced write that came too late: the run that made
	// it was overtaken.
	ErrStale = errors.New("another run of the lead has gone on meanwhile")

	errTimeout   = errors.New("the database did not answer in time")
	errWrongType = errors.New("a column in the ledger is damaged: not of the type that was written")
)

// A DamagedError is the error for a lead of which the ledger holds something that cannot
// be decoded. It quotes none of it. Reads of many leads report it for the lead alone, and
// return the others.
type DamagedError struct {
	LeadID string
	Err    error // says what is damaged
}

func (e *DamagedError) Error() string { return e.LeadID + ": " + e.Err.Error() }

func (e *DamagedError) Unwrap() error { return e.Err }

// A decodeError names what cannot be decoded.
type decodeError string

func (what decodeError) Error() string {
	return fmt.Sprintf("the %s in the ledger is damaged: not the JSON that was written", string(what))
}

// decode reads what is stored as JSON; its error quotes none of it.
func decode(what, text string, into any) error {
	if json.Unmarshal([]byte(text), into) != nil {
		return decodeError(what)
	}
	return nil
}

// damaged tells a row of a lead whose columns cannot be decoded from one that could not
// be read.
func damaged(rows *sql.Rows, leadID string, err error) (damage, fatal error) {
	if err == nil || leadID == "" || rows.Err() != nil {
		return nil, err
	}
	if !errors.As(err, new(decodeError)) {
		err = errWrongType // that of a scan may quote the value
	}
	return &DamagedError{LeadID: leadID, Err: err}, nil
}

// WhileAway calls op, and calls it again while the database is away ([IsAway]), after
// pauses of 100 ms that double up to 2 s, until ctx ends. It returns the last error of
// op, which says more than that of ctx.
func WhileAway(ctx context.Context, op func(context.Context) error) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := op(ctx)
		if !IsAway(err) || clock.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// IsAway reports whether err means that the database cannot be reached or cannot
// write just now: the same call may succeed later. Other errors are those of the call
// itself, or of a context that ended, and would come again.
func IsAway(err error) bool {
	var (
		lite    *sqlite.Error
		pg      *pgconn.PgError
		connect *pgconn.ConnectError
		network *net.OpError
	)
	switch {
	case err == nil:
		return false
	case errors.Is(err, errTimeout), errors.As(err, &connect):
		return true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case errors.As(err, &lite):
		return isAwaySQLite(lite.Code() & 0xff)
	case errors.As(err, &pg):
		return isAwayPostgres(pg.Code)
	}
	// Not net.Error: every error number of the system, "no such file" too, is one.
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.As(err, &network) || pgconn.SafeToRetry(err)
}

// isAwaySQLite knows the primary result codes (https://www.sqlite.org/rescode.html)
// that another process, a full disk or a vanished mount cause.
func isAwaySQLite(code int) bool {
	switch code {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// isAwayPostgres knows the SQLSTATEs
// (https://www.postgresql.org/docs/current/errcodes-appendix.html) of a server
// that is stopping, starting, failing over, or out of something, and of
// transactions that lost to another one.
func isAwayPostgres(code string) bool {
	switch code {
	case "57P01", "57P02", "57P03", // shut down by an administrator, crashed, cannot connect now
		"25006", // read only: a standby after a failover
		"55P03": // a lock was not available
		return true
	}
	return isContention(code) || strings.HasPrefix(code, "08") || strings.HasPrefix(code, "53") || strings.HasPrefix(code, "58")
}

// isContention reports whether the transaction was undone in favour of another
// one: a serialization failure or a deadlock. Running it again is enough.
func isContention(code string) bool { return code == "40001" || code == "40P01" }

// clean makes an error fit to be shown: PostgreSQL's messages about data (SQLSTATE
// classes 22 and 23) can quote the values, so only their kind is kept.
func clean(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "23")) {
		return &dataError{pg}
	}
	return err
}

// A dataError stands for an error whose text could hold data.
type dataError struct{ err *pgconn.PgError }

func (e *dataError) Error() string {
	if e.err.ConstraintName != "" {
		return fmt.Sprintf("the database refused a value (constraint %s, SQLSTATE %s)", e.err.ConstraintName, e.err.Code)
	}
	return fmt.Sprintf("the database refused a value (SQLSTATE %s)", e.err.Code)
}

func (e *dataError) Unwrap() error { return e.err }
