package resilience

import (
	"context"
	"encoding/json"
	"errors"
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

// ErrOtherSecret is the error of forgetting a person by somebody who has another
// secret than those that keep answers, and can therefore not find theirs. What could
// be found was removed; to try again finds no more.
var ErrOtherSecret = errors.New("answers are kept under another secret, too, and cannot be found: use the secret of the workers " +
	"(BACKSTOP_SECRET, answers.secret_env or answers.secret_file); what was kept under a secret that was replaced ends with its age")

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

	// Ticket is what the lead itself has to ask for a pending answer with; then a kept
	// one that is still pending is no answer to it.
	Ticket string

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

// ask gets an answer that is kept, or passes the gate and makes the call, if the
// provider's caps have room for its price.
func (w *walk) ask(ctx context.Context, name string, call providers.Call, asked *Asked, timeout func() (time.Duration, bool)) (r reply, err error) {
	claim := Claim(noClaim{})
	if w.Answers != nil && call.Subject != "" {
		var kept *Kept
		kept, claim, err = w.Answers.Claim(ctx, w.question(name, call, asked.Tickets[call.Endpoint]))
		if err != nil {
			return reply{}, err
		}
		if kept != nil {
			kept = &Kept{Answer: kept.For(w.lead), At: kept.At}
			return reply{Answer: kept.aged(w.Now()), began: w.Now(), kept: true}, nil
		}
	}
	price := w.price(name, call.Endpoint, asked)
	reserved, ticket := Reservation(noReservation{}), asked.Tickets[call.Endpoint]
	if ticket == "" || call.Poll == nil {
		ticket = ""
		if reserved, err = w.reserve(ctx, name, price); err != nil {
			claim.End(ctx, providers.Answer{})
			return reply{}, err
		}
	} else { // what was asked for with the ticket is under way: no cap may leave it there
		call.Do = func(ctx context.Context) providers.Answer { return call.Poll(ctx, ticket) }
	}
	defer func() { reserved.Settle(ctx, r.counted(price)) }()
	r.Answer, r.began, err = ask(ctx, w.Gate, name, timeout, call, w.Now, claim)
	if r.Billed {
		r.spent = price
	}
	r.Answer = r.For(w.lead) // after it was kept: it is shared by all who ask the same
	return r, err
}

// question leaves the lead time for a call of its own when it waits in vain.
func (w *walk) question(name string, call providers.Call, ticket string) Question {
	left, _ := w.left()
	q := Question{
		Provider: name, Endpoint: call.Endpoint, Subject: call.Subject, Variant: call.Variant,
		Wait: max(left-w.Retry.reserve(), 0), Ticket: ticket,
	}
	if w.progress.Generation > 1 {
		q.NegativesSince = w.progress.begun()
	}
	return q
}

// Subjects are the names under which answers about a lead's person may be kept: by
// what the lead came with, by what its progress holds, and by a profile that was
// found. The latter two may be nil.
func Subjects(l lead.Lead, progress []byte, found lead.Profile) []string {
	subjects := append(providers.Subjects(l), providers.Subjects(lead.Facts{Profile: found}.Known(l))...)
	var p Progress
	if len(progress) > 0 && json.Unmarshal(progress, &p) == nil { // else nothing that can be read was found
		subjects = append(subjects, providers.Subjects(p.Facts.Known(l))...)
		for _, email := range p.Found {
			subjects = append(subjects, lead.EmailKey(email))
		}
	}
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
