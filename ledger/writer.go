package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"backstop/lead"
)

// This file takes writes from their callers, groups them, and commits each group in a
// transaction (steps 1, 2, 3 and 3e in doc.go).

// writeTimeout is the longest that the database may take for one statement of a
// write. It is well above sqliteBusy; only a database that hangs reaches it.
const writeTimeout = 30 * time.Second

// groupSize is the most writes that share a commit.
const groupSize = 256

// A write is one caller's part of a transaction: either a change to a lead, which is
// made together with the other changes of the group, or run, for everything else.
type write struct {
	change *change
	run    func(context.Context, session) error // may run more than once
	alone  bool                                 // no other write may be under way, in any process
	erases bool                                 // it removed personal data; run may set it
	purges bool                                 // and no trace of it may stay in the database's files
	done   chan error                           // buffered: the caller may have left
}

// mustBeAlone reports whether it is known that the write must be alone.
func (wr *write) mustBeAlone() bool { return wr.alone || wr.change != nil && wr.change.alone }

// erased reports whether the write, which was committed, removed personal data.
func (wr *write) erased() bool { return wr.erases || wr.change != nil && wr.change.erases }

// writer is the one goroutine of a ledger that writes. It groups the writes of
// many callers into one transaction each, because a commit waits for the disk and
// takes as long for hundreds of rows as for one.
type writer struct {
	db      *sql.DB
	dialect *dialect
	wait    time.Duration
	size    int
	timeout time.Duration // of a statement
	now     func() time.Time

	queue   chan *write // unbuffered: a write that is not received has not begun
	quit    chan struct{}
	once    sync.Once
	stopped chan struct{}

	last int // the size of the last group

	unscrubbed bool      // something was erased and may be in the database's log still
	unpurged   bool      // and is to be looked for in the whole database
	scrubbed   time.Time // when that was last tried
}

func startWriter(db *sql.DB, d *dialect, o Options) *writer {
	w := &writer{
		db: db, dialect: d, wait: o.GroupWait, size: groupSize, timeout: writeTimeout, now: o.Now,
		queue: make(chan *write), quit: make(chan struct{}), stopped: make(chan struct{}),
	}
	go w.loop()
	return w
}

// stop ends the writer after the writes that wait. It reports whether this call
// was the first.
func (w *writer) stop() (first bool) {
	w.once.Do(func() { close(w.quit); first = true })
	<-w.stopped
	return first
}

// do hands a write to the writer and waits until it is durable. When ctx ends
// first, the write may or may not happen.
func (w *writer) do(ctx context.Context, wr *write) error {
	wr.done = make(chan error, 1)
	select {
	case w.queue <- wr:
	case <-w.quit:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("gave up before the ledger wrote: %w", context.Cause(ctx))
	}
	select {
	case err := <-wr.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("stopped waiting for the ledger, which may still write: %w", context.Cause(ctx))
	}
}

func (w *writer) loop() {
	defer close(w.stopped)
	for {
		select {
		case first := <-w.queue:
			w.commitAll(w.collect(first))
		case <-w.quit:
			if first := w.next(); first != nil { // its caller came before quit was closed
				w.commitAll(w.collect(first))
				continue
			}
			w.scrub()
			return
		}
	}
}

// next receives a write from a caller that waits already, or returns nil.
func (w *writer) next() *write {
	select {
	case wr := <-w.queue:
		return wr
	default:
		return nil
	}
}

// collect makes a group of the first write and those that come with it. Callers that
// write one thing after the other come back when their group is answered, so the size of
// the last group says how many to wait for: a lone caller never waits.
func (w *writer) collect(first *write) []*write {
	group := []*write{first}
	for len(group) < w.size {
		wr := w.next()
		if wr == nil {
			break
		}
		group = append(group, wr)
	}
	expected := min(w.last, w.size)
	if len(group) < expected {
		timer := time.NewTimer(w.wait)
		defer timer.Stop()
		for open := true; open && len(group) < expected; {
			select {
			case wr := <-w.queue:
				group = append(group, wr)
			case <-timer.C:
				open = false
			}
		}
	}
	w.last = len(group)
	return group
}

// commitAll commits a group and answers its callers. A group that fails is
// halved until the write that cannot succeed is alone with its error.
func (w *writer) commitAll(group []*write) {
	err := w.commit(group)
	if err != nil && len(group) > 1 && !IsAway(err) {
		w.commitAll(group[:len(group)/2])
		w.commitAll(group[len(group)/2:])
		return
	}
	if err == nil {
		fresh := slices.ContainsFunc(group, (*write).erased)
		w.unscrubbed = w.unscrubbed || fresh
		w.unpurged = slices.ContainsFunc(group, func(wr *write) bool { return wr.purges })
		if fresh || time.Since(w.scrubbed) > scrubPause {
			w.scrub()
		}
	}
	for _, wr := range group {
		switch {
		case err != nil:
			wr.done <- err
		case wr.change != nil:
			wr.done <- wr.change.err
		default:
			wr.done <- nil
		}
	}
}

// contentionTries is how often a transaction is run that keeps losing to others.
const contentionTries = 5

func (w *writer) commit(group []*write) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// A transaction may be long, as long as the database gets on with it.
	watch := time.AfterFunc(w.timeout, cancel)
	defer watch.Stop()
	alive := func() { watch.Reset(w.timeout) }
	alone := slices.ContainsFunc(group, (*write).mustBeAlone)
	for range contentionTries {
		err = w.transaction(ctx, group, alone, alive)
		var pg *pgconn.PgError
		switch {
		case errors.Is(err, errNotAlone):
			alone = true
			continue
		case errors.As(err, &pg) && isContention(pg.Code):
			continue
		}
		break
	}
	if err != nil && ctx.Err() != nil {
		return errTimeout
	}
	return clean(err)
}

func (w *writer) transaction(ctx context.Context, group []*write, alone bool, alive func()) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit it does nothing; otherwise the error says more
	s := session{on: tx, dialect: w.dialect, alive: alive, alone: alone, at: lead.At(w.now())}
	if err := s.begin(ctx); err != nil {
		return err
	}
	var changes []*change
	for _, wr := range group {
		switch {
		case wr.change != nil:
			changes = append(changes, wr.change)
		default:
			if err := wr.run(ctx, s); err != nil {
				return err
			}
		}
	}
	if err := makeChanges(ctx, s, changes); err != nil {
		return err
	}
	return tx.Commit()
}

// begin makes sure that a write that must be alone is alone among all processes: it
// waits for the other writes that are under way, and later ones wait for it.
func (s session) begin(ctx context.Context) error {
	query := s.dialect.beside
	if s.alone {
		query = s.dialect.alone
	}
	if query == "" {
		return nil
	}
	return s.exec(ctx, query)
}
