// Package accept takes leads in: into the ledger first, then on the queue. From the
// moment that the ledger has a lead it is accepted and comes to an outcome, whether or not
// the queue can be reached.
package accept

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"backstop/lead"
	"backstop/ledger"
	"backstop/outage"
	"backstop/queue"
)

// An Enqueuer accepts leads, and begins further runs of leads that have an outcome. It
// is safe for concurrent use.
type Enqueuer struct {
	ledger   *ledger.Ledger
	queue    *queue.Queue
	log      zerolog.Logger
	outage   *outage.Tracker // of Redis
	unqueued atomic.Int64
}

// New makes an Enqueuer. The log is told once when the queue goes and when it is back.
func New(l *ledger.Ledger, q *queue.Queue, log zerolog.Logger) *Enqueuer {
	return &Enqueuer{ledger: l, queue: q, log: log, outage: outage.New(outage.Options{
		Log: log, Event: "unqueued", Back: "the queue can be reached again",
		Gone: "the queue cannot be reached; the leads are in the ledger and a worker will queue them",
	})}
}

const (
	// parallel is how many tasks are put on the queue at once. asynq has no bulk call;
	// this many in flight hide the round trip.
	parallel = 32
	// maxWait is the longest that one task may take to get there.
	maxWait = 3 * time.Second
)

// errAway is the error while the queue is left alone after it could not be reached.
var errAway = errors.New("it could not be reached a moment ago")

// Put accepts leads that [lead.Normalize] returned. With a nil error every one of
// them is in the ledger and will come to an outcome. If the queue cannot be
// reached they are accepted all the same, and the workers' reconciler puts them
// on the queue; [Enqueuer.Unqueued] counts them.
//
// A lead whose person opted out is turned away: it is Suppressed and is in neither. A
// lead that was accepted before is a duplicate. Its task is enqueued again only if it
// has no outcome yet, under the same TaskID, so that a run that died between the ledger
// and the queue is completed by the next.
func (e *Enqueuer) Put(ctx context.Context, leads []lead.Lead) ([]ledger.Accepted, error) {
	accepted, err := e.ledger.Accept(ctx, leads)
	if err != nil {
		return nil, fmt.Errorf("accept %d leads: %w", len(leads), err)
	}
	var live []queue.Payload // neither settled nor of a person who opted out
	var fresh []bool
	for _, a := range accepted {
		if a.Live {
			live = append(live, queue.Payload{LeadID: a.LeadID, RequestID: a.RequestID, Generation: a.Generation, Lead: a.Lead})
			fresh = append(fresh, !a.Duplicate)
		}
	}
	queued, _ := e.enqueue(ctx, live) // the log has the error
	var marks []lead.Run
	for i, p := range live {
		switch {
		case !queued[i]:
			e.unqueued.Add(1)
		case fresh[i]:
			marks = append(marks, p.Run())
			e.log.Debug().Str("event", "accepted").Str("request_id", p.RequestID).Str("lead_id", p.LeadID).Send()
		}
	}
	e.mark(ctx, marks)
	return accepted, nil
}

// Unqueued is how many accepted leads could not be put on the queue so far.
func (e *Enqueuer) Unqueued() int64 { return e.unqueued.Load() }

// Again begins the next run of leads that have an outcome, and returns of how many. Of
// those that somebody else begins at the same time it begins none. A lead that was begun
// comes to an outcome even if the queue could not be reached, which is then the error.
func (e *Enqueuer) Again(ctx context.Context, records []ledger.Record) (int, error) {
	byID := make(map[string]ledger.Record, len(records))
	runs := make([]lead.Run, len(records))
	for i, rec := range records {
		byID[rec.LeadID] = rec
		runs[i] = rec.Run()
	}
	began, err := e.ledger.Reopen(ctx, runs)
	if err != nil {
		return 0, err
	}
	payloads := make([]queue.Payload, len(began))
	for i, run := range began {
		rec := byID[run.LeadID]
		payloads[i] = queue.Payload{LeadID: rec.LeadID, RequestID: rec.RequestID, Generation: run.Generation, Lead: rec.Lead}
	}
	queued, err := e.enqueue(ctx, payloads)
	for i, p := range payloads {
		if queued[i] {
			e.replayed(p)
		}
	}
	if err != nil {
		return len(began), fmt.Errorf("the queue cannot be reached, a worker will queue the leads that were begun: %w", err)
	}
	e.mark(ctx, began)
	return len(began), nil
}

// replayed takes the task of the run before out of the archive, which shows what is dead.
func (e *Enqueuer) replayed(p queue.Payload) {
	log := e.log.With().Str("request_id", p.RequestID).Str("lead_id", p.LeadID).Logger()
	log.Info().Str("event", "replayed").Int("generation", p.Generation).Send()
	if err := e.queue.Drop(queue.QueueEnrich, queue.EnrichID(p.LeadID, p.Generation-1)); err != nil {
		log.Debug().Err(err).Str("event", "drop").Msg("the task of the run before stays where it is")
	}
}

// enqueue puts tasks on the queue and reports which are there. After the first error it
// tries no more for a while: the rest would only wait for the same time-outs. It goes on
// when ctx ends: the leads are accepted, and must not be without tasks for longer than
// needed.
func (e *Enqueuer) enqueue(ctx context.Context, payloads []queue.Payload) (queued []bool, err error) {
	queued = make([]bool, len(payloads))
	if len(payloads) == 0 {
		return queued, nil
	}
	if try, _ := e.outage.Admits(); !try {
		return queued, errAway
	}
	var away atomic.Bool
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, p := range payloads {
		g.Go(func() error {
			if away.Load() {
				return nil
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxWait)
			defer cancel()
			_, err := e.queue.Enrich(ctx, p)
			queued[i] = err == nil
			if err != nil {
				away.Store(true)
			}
			return err
		})
	}
	if err = g.Wait(); err != nil {
		e.outage.Failed(err)
	} else {
		e.outage.Worked()
	}
	return queued, err
}

// mark notes in the ledger that the runs are queued. Only the reconciler reads the mark,
// and it looks at the queue before it acts.
func (e *Enqueuer) mark(ctx context.Context, runs []lead.Run) {
	if err := e.ledger.MarkEnqueued(context.WithoutCancel(ctx), runs); err != nil {
		e.log.Warn().Err(err).Str("event", "ledger").Msg("the leads are queued but not marked so")
	}
}
