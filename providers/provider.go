package providers

import (
	"context"
	"strings"
	"time"

	"backstop/lead"
)

// A Provider is one source of data about people and companies.
//
// Implementations are safe for concurrent use. They do not retry, do not wait
// and keep no state of their own: that is the work of the packages resilience
// and breakerstore.
type Provider interface {
	// Name is the provider's name in configuration, trails, logs and metrics.
	Name() string

	// Plan lists the calls that could fill the missing fields for this lead, in
	// the order in which to make them. With nothing to call, why says so in a few
	// words that hold no personal data ("has no email address").
	Plan(l lead.Lead, missing []lead.Field) (calls []Call, why string)
}

// BuiltIn are the names of the providers that have code of their own, which no description
// may take.
var BuiltIn = []string{"clearbit", "directory", "hunter", "pdl"}

// A Call is one request to a provider: one use of its rate limit.
type Call struct {
	// Endpoint tells the calls of one provider apart: "combined/find".
	Endpoint string
	// Within is the endpoint of a call whose answer has all that this one's would
	// have: once that one was answered for a lead, this one buys nothing new. ""
	// if there is none.
	Within string
	// Subject is what the call asks about: a person by their address, in the spelling
	// of [lead.EmailKey], or else by name, in that of [lead.NameKey], or by
	// "profile:…", "phone:…" or "location:…"; a company as "domain:acme.example". Empty: its answer is not to be kept.
	Subject string
	// Variant is what else the answer depends on. Two calls to one provider with the
	// same Endpoint, Subject and Variant buy the same answer.
	Variant string
	// Do makes the call. It obeys ctx's deadline, which is the only one, and
	// always returns a classified answer: a failure is an Answer too.
	Do func(ctx context.Context) Answer
	// Poll asks for the result of a call whose answer had a Ticket, instead of
	// making the call again. It may be nil; then Do is made again.
	Poll func(ctx context.Context, ticket string) Answer
}

// An Answer is what a provider said, or what became of the attempt to ask it.
type Answer struct {
	Class  lead.Class // "" when the caller gave the call up: that says nothing
	Status int        // the HTTP status, 0 when there was no answer
	Detail string     // a few words for people; never personal data, never a key

	Profile lead.Profile // with Class ok or partial
	AsOf    time.Time    // when the data was true, zero if the provider does not say
	// Confidence is how sure the provider is that this is the right person, from 0 to
	// 1; 0 if it does not say.
	Confidence float64

	// Billed reports whether the provider charges for this answer, or may: no answer
	// came to a request that was sent.
	Billed bool
	// Ticket is what a pending answer is asked for with, where the API gives one out.
	Ticket string

	// Wait is the least time to wait before the provider is asked again, as it
	// asked for: for rate_limited, pending, and transient where the server gave a
	// Retry-After. It is capped at 15 minutes. 0 means that it did not say.
	Wait time.Duration
	// Until is when a used-up quota is renewed; zero means that it did not say.
	Until time.Time
}

// SomebodyElse is the detail of an answer that is about another person.
const SomebodyElse = "answer is about somebody else"

// For is the answer as it counts for one lead: nothing of a person whose name cannot
// be that of the lead. Somebody who is greeted by another's title is worse than a
// blank, also where the address agrees: it may have been handed on, or be wrong in
// one of the two places. The company stays if the lead's own domain says that it is
// theirs; without it the answer is no_data.
//
// An answer is shared by everybody who asks the same, so that Do looks only at what
// is in the call's Subject and Variant: the lead's own name may not decide what others
// get. It decides here, for an answer that was just given as for one that was kept.
func (a Answer) For(l lead.Lead) Answer {
	if !lead.NamesContradict(a.Profile[lead.PersonName], l.Name) {
		return a
	}
	company := lead.Profile{}
	for f, v := range a.Profile {
		if strings.HasPrefix(string(f), "company.") {
			company[f] = v
		}
	}
	if d := company[lead.CompanyDomain]; d != "" && lead.SameSite(d, l.InferredDomain()) {
		a.Class, a.Detail, a.Profile = lead.ClassPartial, "the person is somebody else", company
		return a
	}
	a.Class, a.Detail = lead.ClassNoData, SomebodyElse
	a.Profile, a.AsOf, a.Confidence = nil, time.Time{}, 0
	return a
}

// Charged is the answer as one that was charged, or may have been.
func (a Answer) Charged() Answer {
	a.Billed = true
	return a
}
