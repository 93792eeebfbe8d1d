package credits

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// every is the age at which a reading of the ledger is renewed.
const every = 10 * time.Second

// A reading is what the ledger said to be spent.
type reading struct {
	day   time.Time // when the day begins that it is of
	began time.Time // what was in the ledger then is in it
	sums  []micros  // in the order of the limits
}

// within reports whether there is a reading and it is younger than age.
func (r *reading) within(age time.Duration, at time.Time) bool {
	if r == nil {
		return false
	}
	old := at.Sub(r.began)
	return old < age && old > -age // the clock may have been set back
}

// last is the latest reading, nil if there is none of at's day.
func (p *capped) last(at time.Time) *reading {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest == nil || !p.latest.day.Equal(dayOf(at)) {
		return nil
	}
	return p.latest
}

// expire makes the next caller read the ledger again.
func (p *capped) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expired = true
}

// due reports whether a reading has to be renewed, wherever it is used.
func (p *capped) due() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.expired
}

func (p *capped) learn(r *reading) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest, p.expired = r, false
}

// errLedger is that what was spent could not be read from the ledger.
var errLedger = errors.New("the ledger cannot be read")

// read reads the ledger. All who come meanwhile wait for the one who reads, which
// the time-out bounds; ctx does not end it. The error is errLedger; what was wrong
// is logged.
func (s *Store) read(ctx context.Context, p *capped, at time.Time) (*reading, error) {
	v, err, _ := p.asking.Do(label(perDay, dayOf(at)), func() (any, error) {
		if try, _ := s.ledger.Admits(); !try {
			return nil, errLedger
		}
		r, err := s.ask(context.WithoutCancel(ctx), p, at)
		if err != nil {
			s.ledger.Failed(fmt.Errorf("read what was spent at %s: %w", p.name, err))
			return nil, errLedger
		}
		s.ledger.Worked()
		p.learn(r)
		return r, nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*reading), nil
}

// ask asks the ledger itself.
func (s *Store) ask(ctx context.Context, p *capped, at time.Time) (*reading, error) {
	ctx, cancel := context.WithTimeout(ctx, s.step)
	defer cancel()
	r := &reading{day: dayOf(at), began: s.o.Now()}
	day, month, err := s.o.Spent(ctx, p.name, at)
	if err != nil {
		return nil, err
	}
	if !(day >= 0 && month >= 0) { // NaN is none
		return nil, fmt.Errorf("it says %g in the day and %g in the month", day, month)
	}
	for _, l := range p.limits {
		if l.per == perDay {
			r.sums = append(r.sums, nearest(day))
		} else {
			r.sums = append(r.sums, nearest(month))
		}
	}
	return r, nil
}

// renewed is the latest reading, which the first caller who finds it due renews.
// The others go on with what there is, which may be nil. fresh reports whether
// this caller has just read it.
func (s *Store) renewed(ctx context.Context, p *capped, at time.Time, due bool) (r *reading, fresh bool) {
	r = p.last(at)
	if r.within(every, at) && !due && !p.due() {
		return r, false
	}
	if !p.renewing.CompareAndSwap(false, true) {
		return r, false
	}
	defer p.renewing.Store(false)
	if now, err := s.read(ctx, p, at); err == nil {
		return now, true
	}
	return r, false // the counter in Redis does without
}
