package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"backstop/lead"
)

// This file counts.

// Counts say how many leads there are, by how far they have come.
type Counts struct {
	Accepted int64
	Settled  map[lead.Status]int64 // every status has an entry
	Open     int64                 // without an outcome
	Live     int64                 // not settled for their generation
}

// One statement sees one state of the ledger: the numbers agree.
const countLeads = `SELECT '', count(*) FROM leads
UNION ALL SELECT 'live', count(*) FROM leads WHERE settled_generation < generation
UNION ALL SELECT status, count(*) FROM outcomes GROUP BY status`

const anyLive = `SELECT EXISTS (SELECT 1 FROM leads WHERE settled_generation < generation)`

// Counts counts the leads, all at the same instant.
func (l *Ledger) Counts(ctx context.Context) (Counts, error) {
	n, err := readCounts(ctx, l.reader(), countLeads)
	if err != nil {
		return Counts{}, fmt.Errorf("count leads: %w", err)
	}
	c := Counts{Accepted: n[""], Open: n[""], Live: n["live"], Settled: map[lead.Status]int64{}}
	for _, st := range lead.Statuses {
		c.Settled[st] = n[string(st)]
		c.Open -= n[string(st)]
	}
	return c, nil
}

// AnyLive reports whether any lead is live. Its cost does not depend on how many are.
func (l *Ledger) AnyLive(ctx context.Context) (bool, error) {
	any, err := readOne(ctx, l.reader(), scanOne[bool], anyLive)
	if err != nil {
		return false, fmt.Errorf("look for a live lead: %w", err)
	}
	return any, nil
}

// readCounts reads rows of a name and a number.
func readCounts(ctx context.Context, s session, query string, args ...any) (map[string]int64, error) {
	counts := map[string]int64{}
	err := s.each(ctx, func(rows *sql.Rows) error {
		var (
			name string
			n    int64
		)
		err := rows.Scan(&name, &n)
		counts[name] = n
		return err
	}, query, args...)
	return counts, err
}

// Measures say how well leads were served. They cover the leads whose current
// outcome was settled in the time asked for.
type Measures struct {
	Leads     int64
	Retried   int64 // leads that used at least one retry
	RetriedOK int64 // of these, the ones that settled enriched and not by the fallback
	Fallback  int64 // settled by the fallback

	// From the start of the generation that gave the outcome to the outcome.
	LatencyP50, LatencyP99 time.Duration
	// From acceptance to the first outcome: a later, better one is no wait.
	WaitP50, WaitP99 time.Duration

	// Times that circuits opened, for each provider; of the last [CircuitEventAge].
	Trips map[string]int64
}

const (
	countOutcomes = `SELECT count(*), count(*) FILTER (WHERE retries > 0),
	count(*) FILTER (WHERE retries > 0 AND status = 'enriched' AND NOT fallback), count(*) FILTER (WHERE fallback)
FROM outcomes WHERE settled_at >= $1`

	latencies = `SELECT settled_at - started_at AS ms, count(*) FROM outcomes
WHERE settled_at >= $1 AND started_at IS NOT NULL GROUP BY ms ORDER BY ms`

	waits = `SELECT first_settled_at - accepted_at AS ms, count(*) FROM outcomes
WHERE settled_at >= $1 GROUP BY ms ORDER BY ms`

	countTrips = `SELECT provider, count(*) FROM circuit_events WHERE to_state = 'open' AND at >= $1 GROUP BY provider`
)

// Measures computes the measures over what was settled at or after since; the
// zero time covers all.
func (l *Ledger) Measures(ctx context.Context, since time.Time) (Measures, error) {
	from := int64(0)
	if !since.IsZero() {
		from = since.UnixMilli()
	}
	var m Measures
	err := l.snapshot(ctx, func(s session) (err error) {
		m, err = readOne(ctx, s, func(r *sql.Rows) (m Measures, err error) {
			return m, r.Scan(&m.Leads, &m.Retried, &m.RetriedOK, &m.Fallback)
		}, countOutcomes, from)
		if err != nil {
			return err
		}
		if m.LatencyP50, m.LatencyP99, err = percentiles(ctx, s, latencies, from); err != nil {
			return err
		}
		if m.WaitP50, m.WaitP99, err = percentiles(ctx, s, waits, from); err != nil {
			return err
		}
		m.Trips, err = readCounts(ctx, s, countTrips, from)
		return err
	})
	if err != nil {
		return Measures{}, fmt.Errorf("compute measures: %w", err)
	}
	return m, nil
}

// percentiles are the 50th and the 99th by nearest rank, exact to the millisecond,
// of a query that gives each number of milliseconds with its count, in order.
func percentiles(ctx context.Context, s session, query string, args ...any) (p50, p99 time.Duration, err error) {
	type bin struct{ ms, n int64 }
	bins, err := readAll(ctx, s, func(r *sql.Rows) (b bin, err error) { return b, r.Scan(&b.ms, &b.n) }, query, args...)
	if err != nil {
		return 0, 0, err
	}
	var total int64
	for _, b := range bins {
		total += b.n
	}
	rank := func(percent int64) time.Duration {
		left := (total*percent + 99) / 100
		for _, b := range bins {
			if left -= b.n; left <= 0 {
				return time.Duration(b.ms) * time.Millisecond
			}
		}
		return 0 // nothing was settled
	}
	return rank(50), rank(99), nil
}

// A CircuitEvent is a change of a provider's circuit that one replica made.
type CircuitEvent struct {
	Provider string
	From, To string // closed, open, half-open; To "open" counts as a trip
	Reason   string
	Replica  string
	At       time.Time
}

const insertCircuitEvent = `INSERT INTO circuit_events (at, provider, from_state, to_state, reason, replica)
VALUES ($1, $2, $3, $4, $5, $6)`

// RecordTransition keeps a change of a circuit for [CircuitEventAge]. Only the replica
// that made it records it, so that it counts once.
func (l *Ledger) RecordTransition(ctx context.Context, e CircuitEvent) error {
	err := l.writer.do(ctx, &write{run: func(ctx context.Context, s session) error {
		return s.exec(ctx, insertCircuitEvent, lead.At(e.At).Millis(), plain(e.Provider), plain(e.From), plain(e.To), plain(e.Reason), plain(e.Replica))
	}})
	if err != nil {
		return fmt.Errorf("record a circuit's transition: %w", err)
	}
	return nil
}
