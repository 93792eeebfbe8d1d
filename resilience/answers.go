package resilience

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"backstop/lead"
	"backstop/providers"
)

// Answers are what providers said before. A chain that has them makes no call
// whose answer is known, or is being got for another lead right now.
type Answers interface {
	// Claim gives the kept answer to a question, which costs neither a slot of the
	// gate nor a call. Otherwise it gives a Claim: the caller makes the call and
	// ends the claim, whatever comes of it.
	//
	// While another caller makes the same call Claim waits for its answer, no longer
	// than the question's Wait; after that it gives a Claim all the same. The error
	// is ctx's own; that the store of the answers is away is none.
	Claim(ctx context.Context, q Question) (*Kept, Claim, error)
}

// A Claim is the right to make one call.
type Claim interface {
	// End keeps the call's answer, if it is final, before it returns, and lets those
	// who wait for it go on. The zero Answer says that there is none. Only the first
	// End of a claim counts. It goes on when ctx ends, for a bounded time.
	End(ctx context.Context, a providers.Answer)
}

// A Question is a call as far as its answer goes: equal ones have equal answers.
type Question struct {
	Provider, Endpoint string
	Subject, Variant   string // the call's

	// NegativesSince is the time before which a negative answer is not used: a
	// replay is made to find out what was not known then.
	NegativesSince time.Time
	// Wait is the longest time to wait for a call that somebody else makes.
	Wait time.Duration
}

// Kept is an answer that was given before.
type Kept struct {
	providers.Answer
	At time.Time
}

// noClaim is the claim on an answer that nobody keeps.
type noClaim struct{}

func (noClaim) End(context.Context, providers.Answer) {}

// reply is what came of asking: an answer, and whether it was a kept one.
type reply struct {
	providers.Answer
	began time.Time
	kept  bool
	spent float64 // credits
}

// ask gets an answer that is kept, or passes the gate and makes the call, if the
// provider's caps have room for its price.
func (w *walk) ask(ctx context.Context, name string, call providers.Call, asked *Asked, timeout func() (time.Duration, bool)) (r reply, err error) {
	claim := Claim(noClaim{})
	if w.Answers != nil && call.Subject != "" {
		var kept *Kept
		kept, claim, err = w.Answers.Claim(ctx, w.question(name, call))
		if err != nil {
			return reply{}, err
		}
		if kept != nil {
			kept = &Kept{Answer: kept.For(w.lead), At: kept.At}
			return reply{Answer: kept.aged(w.Now()), began: w.Now(), kept: true}, nil
		}
	}
	price := w.price(name, call.Endpoint, asked)
	reserved, err := w.reserve(ctx, name, price)
	if err != nil {
		claim.End(ctx, providers.Answer{})
		return reply{}, err
	}
	defer func() { reserved.Settle(ctx, r.spent) }()
	if ticket := asked.Tickets[call.Endpoint]; ticket != "" && call.Poll != nil {
		call.Do = func(ctx context.Context) providers.Answer { return call.Poll(ctx, ticket) }
	}
	r.Answer, r.began, err = ask(ctx, w.Gate, name, timeout, call, w.Now, claim)
	if r.Billed {
		r.spent = price
	}
	r.Answer = r.For(w.lead) // after it was kept: it is shared by all who ask the same
	return r, err
}

// question leaves the lead time for a call of its own when it waits in vain.
func (w *walk) question(name string, call providers.Call) Question {
	left, _ := w.left()
	q := Question{
		Provider: name, Endpoint: call.Endpoint, Subject: call.Subject, Variant: call.Variant,
		Wait: max(left-w.Retry.reserve(), 0),
	}
	if w.progress.Generation > 1 {
		q.NegativesSince = w.progress.begun()
	}
	return q
}

// Subjects are the names under which answers about a lead's person may be kept,
// by what the lead came with and by what its progress, which may be nil, found.
func Subjects(l lead.Lead, progress []byte) []string {
	subjects := providers.Subjects(l)
	var p Progress
	if len(progress) == 0 || json.Unmarshal(progress, &p) != nil {
		return subjects // nothing was found, or nothing that can be read
	}
	subjects = append(subjects, providers.Subjects(p.Facts.Known(l))...)
	slices.Sort(subjects)
	return slices.Compact(subjects)
}

const keptAnswer = "kept answer, "

// aged is the answer as the trail shows it: "kept answer, 12s old".
func (k *Kept) aged(now time.Time) providers.Answer {
	a := k.Answer
	detail := keptAnswer + max(now.Sub(k.At), 0).Truncate(time.Second).String() + " old"
	if a.Detail != "" {
		detail += ": " + a.Detail
	}
	a.Detail = detail
	return a
}

// IsKept reports whether an entry of a trail is an answer that was kept, for
// which no call was made.
func IsKept(e lead.TrailEntry) bool { return strings.HasPrefix(e.Detail, keptAnswer) }
