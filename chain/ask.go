package chain

import (
	"context"
	"errors"
	"time"

	"backstop/lead"
	"backstop/providers"
	"backstop/resilience"
)

// A reply is what came of asking: an answer, when the call for it began, and what it
// cost in credits. One from the cache began now and cost nothing.
type reply struct {
	providers.Answer
	began  time.Time
	cached bool
	spent  float64
}

// ask gets one answer: from the cache, or by a call within the provider's caps that
// the gate lets pass. The error is errNoTime, a *[resilience.Refusal], a *[CapReached],
// or ctx's own.
func (t *turn) ask(ctx context.Context, call providers.Call) (reply, error) {
	if _, err := t.timeout(); err != nil {
		return reply{}, err
	}
	within, cancel := t.withinBudget(ctx)
	defer cancel()
	r, err := t.askWithin(within, call)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = errNoTime // the budget ended while somebody else was waited for
	}
	return r, err
}

func (t *turn) askWithin(ctx context.Context, call providers.Call) (reply, error) {
	ticket := t.asked.Tickets[call.Endpoint]
	entry, lease, err := t.lookUp(ctx, call, ticket)
	if err != nil {
		return reply{}, err
	}
	if entry != nil {
		return reply{Answer: entry.at(t.Now()).For(t.lead), began: t.Now(), cached: true}, nil
	}
	defer lease.Release(ctx)

	price, reservation := t.price(call.Endpoint), Reservation(free{})
	if ticket != "" && call.Poll != nil { // what was ordered is under way: no cap may leave it there
		call.Do = func(ctx context.Context) providers.Answer { return call.Poll(ctx, ticket) }
	} else if reservation, err = t.reserve(ctx, price); err != nil {
		return reply{}, err
	}
	r, err := t.make(ctx, call, lease)
	if r.Billed {
		r.spent = price
	}
	r.Answer = r.For(t.lead) // after it was cached: the entry is shared by all who ask the same
	reservation.Commit(ctx, r.counted(price))
	return r, err
}

// make makes the call behind the gate. The answer is cached before anything else
// happens with it: what comes after may fail, or be the last that this process does.
func (t *turn) make(ctx context.Context, call providers.Call, lease Lease) (r reply, err error) {
	r.began, err = resilience.Do(ctx, t.Gate, t.name, t.timeout, t.Now, func(ctx context.Context) resilience.Result {
		r.Answer = call.Do(ctx)
		lease.Fill(ctx, r.Answer)
		return resilience.Result{Class: r.Class, Wait: r.Wait, Until: r.Until}
	})
	var panicked *resilience.PanicError
	switch {
	case errors.As(err, &panicked):
		if t.hooks.Panic != nil {
			t.hooks.Panic(t.name, panicked)
		}
		r.Answer = providers.Answer{Class: lead.ClassTransient, Detail: "the client panicked"}
		return r, nil
	case err != nil:
		r.Answer = providers.Answer{}
	}
	return r, err
}

// lookUp gives the cached answer, or the lease to get it.
func (t *turn) lookUp(ctx context.Context, call providers.Call, ticket string) (*Entry, Lease, error) {
	if t.Cache == nil || call.Subject == "" {
		return nil, NoLease{}, nil
	}
	left, _ := t.left()
	l := Lookup{
		Key:     Key{Provider: t.name, Endpoint: call.Endpoint, Subject: call.Subject, Variant: call.Variant},
		Ticket:  ticket,
		MaxWait: max(left-t.reserved(), 0), // time for a call of its own is left when it waits in vain
	}
	if t.progress.Generation > 1 {
		l.NegativesSince = t.progress.begun()
	}
	return t.Cache.GetOrLease(ctx, l)
}

// price is what the call will cost if the provider charges for its answer. One
// that said "pending" and was charged is not charged again for the answer. A call
// that failed, and that may have been charged, is paid for again by its retry.
func (t *turn) price(endpoint string) float64 {
	if t.asked.isBilled(endpoint) {
		return 0
	}
	return t.Rules[t.name].price(endpoint)
}

// reserve sets the price of a call aside, if there is one and somebody counts.
func (t *turn) reserve(ctx context.Context, price float64) (Reservation, error) {
	if t.Credits == nil || price == 0 {
		return free{}, nil
	}
	return t.Credits.Reserve(ctx, t.name, price)
}

// counted is what the call counts for against a cap. One that gave out a ticket has
// been ordered, and one that was cut short may have been: both stay counted whatever
// comes of them.
func (r reply) counted(price float64) float64 {
	ordered := r.Class == lead.ClassPending && r.Ticket != ""
	cut := r.Class == "" && !r.began.IsZero()
	if ordered || cut {
		return price
	}
	return r.spent
}
