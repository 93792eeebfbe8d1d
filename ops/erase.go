package ops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"backstop/chain"
	"backstop/clock"
	"backstop/lead"
	"backstop/ledger"
	"backstop/queue"
)

// An Eraser erases people from everything that Backstop keeps: the ledger, the
// queues in every state of a task, and the kept answers.
type Eraser struct {
	Ledger *ledger.Ledger
	Queue  *queue.Queue
	Cache  Cache
	Log    zerolog.Logger
}

// A Cache forgets the answers about people, who are named by any Subject of a call, and
// says how many answers that were. The error may be chain.ErrOtherSecret.
type Cache interface {
	Forget(ctx context.Context, subjects ...string) (int, error)
}

// Erased says what was erased of a person.
type Erased struct {
	Leads        int `json:"leads"`
	Outcomes     int `json:"outcomes"`
	TrailEntries int `json:"trail_entries"`
	Directory    int `json:"directory"`
	Tasks        int `json:"tasks"`   // in whichever state: pending, scheduled, retry, archived, completed
	Answers      int `json:"answers"` // that were kept
	// UnderWay are tasks that a worker was still at when Forget gave up waiting. They
	// can write nothing any more and are gone when the worker leaves them.
	UnderWay   int  `json:"under_way"`
	Remembered bool `json:"remembered"` // the keyed hash by which the person is turned away
}

// How long Forget waits for workers to let go of a person.
const (
	letGoMaxWait = 15 * time.Second
	letGoPoll    = 100 * time.Millisecond
)

// Forget erases the person with an address, given in any spelling, and remembers a
// keyed hash so that they are not taken in again. Run again it erases what an
// earlier run did not come to; the error says where that one stopped.
//
// The order is such that nothing comes back, and that a run that dies in the middle
// still finds everything by the ledger. A lead that is in the ledger gets its task
// again from the reconciler, and one that is not gets none: so the queues and the
// answers are emptied before the ledger, and once more after it, of what came in
// between.
func (e Eraser) Forget(ctx context.Context, email string) (sum Erased, err error) {
	records, err := e.Ledger.LeadsOf(ctx, email)
	if err != nil {
		return sum, fmt.Errorf("find the person: %w", err)
	}
	if _, err := e.tasks(ctx, records, &sum); err != nil {
		return sum, err
	}
	subjects := map[string]bool{}
	if err := e.subjects(ctx, email, records, subjects); err != nil {
		return sum, err
	}
	if err := e.answers(ctx, subjects, &sum); err != nil && !errors.Is(err, chain.ErrOtherSecret) {
		return sum, err
	}
	gone, err := e.Ledger.Forget(ctx, email)
	if err != nil {
		return sum, fmt.Errorf("erase the person from the ledger: %w", err)
	}
	sum.Leads, sum.Outcomes, sum.TrailEntries, sum.Directory = gone.Leads, gone.Outcomes, gone.TrailEntries, gone.People
	sum.Remembered = true
	if sum.UnderWay, err = e.letGo(ctx, append(records, gone.Records...), &sum); err != nil {
		return sum, err
	}
	for _, rec := range gone.Records {
		add(subjects, chain.Subjects(rec.Lead, rec.Progress, nil))
	}
	if err := e.answers(ctx, subjects, &sum); err != nil {
		return sum, err
	}
	e.Log.Info().Str("event", "forgotten").Int("leads", sum.Leads).Int("tasks", sum.Tasks).Int("answers", sum.Answers).
		Msg("a person was erased on request")
	return sum, nil
}

// Preview says what Forget would find in the ledger, and changes nothing.
func (e Eraser) Preview(ctx context.Context, email string) (leads int, err error) {
	records, err := e.Ledger.LeadsOf(ctx, email)
	if err != nil {
		return 0, fmt.Errorf("find the person: %w", err)
	}
	return len(records), nil
}

// tasks removes the tasks of all runs of the leads, and returns how many a worker
// is at.
func (e Eraser) tasks(ctx context.Context, records []ledger.Record, sum *Erased) (underWay int, err error) {
	for _, rec := range records {
		for g := 1; g <= rec.Generation; g++ {
			removed, active, err := e.Queue.Remove(ctx, lead.Run{LeadID: rec.LeadID, Generation: g}, true)
			if err != nil {
				return 0, err
			}
			sum.Tasks += removed
			underWay += active
		}
	}
	return underWay, nil
}

// letGo removes the tasks until no worker is at one any more.
func (e Eraser) letGo(ctx context.Context, records []ledger.Record, sum *Erased) (underWay int, err error) {
	for deadline := time.Now().Add(letGoMaxWait); ; {
		underWay, err = e.tasks(ctx, records, sum)
		if err != nil || underWay == 0 || time.Now().After(deadline) {
			return underWay, err
		}
		if err := clock.Sleep(ctx, letGoPoll); err != nil {
			return underWay, fmt.Errorf("wait for the workers: %w", err)
		}
	}
}

// subjects adds the names under which answers about the person may be kept.
func (e Eraser) subjects(ctx context.Context, email string, records []ledger.Record, subjects map[string]bool) error {
	address, err := lead.NormalizeEmail(email)
	if err != nil {
		return err
	}
	subjects[lead.EmailKey(address)] = true
	for _, rec := range records {
		o, err := e.Ledger.Outcome(ctx, rec.LeadID)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) { // erased by somebody else meanwhile
			return fmt.Errorf("read what was found of the person: %w", err)
		}
		add(subjects, chain.Subjects(rec.Lead, rec.Progress, o.Profile))
	}
	return nil
}

func add(set map[string]bool, names []string) {
	for _, n := range names {
		set[n] = true
	}
}

// answers removes what is kept under any of the names.
func (e Eraser) answers(ctx context.Context, subjects map[string]bool, sum *Erased) error {
	n, err := e.Cache.Forget(ctx, slices.Collect(maps.Keys(subjects))...)
	sum.Answers += n
	return err
}
