package lead

import (
	"fmt"
	"strings"
)

// A Status is how a lead ended.
type Status string

// The statuses of an outcome.
const (
	StatusEnriched   Status = "enriched"   // a provider was heard and every wanted field is there
	StatusPartial    Status = "partial"    // what could be gathered; Reason says why not more
	StatusSuppressed Status = "suppressed" // the person asked not to be processed
)

// Statuses lists the statuses in the order in which they are shown.
var Statuses = []Status{StatusEnriched, StatusPartial, StatusSuppressed}

// ParseStatus checks a status's name.
func ParseStatus(s string) (Status, error) {
	for _, st := range Statuses {
		if string(st) == s {
			return st, nil
		}
	}
	return "", fmt.Errorf("unknown status %q: use enriched, partial or suppressed", s)
}

// A TrailEntry is one thing that happened to a lead on its way.
type TrailEntry struct {
	Attempt  int    `json:"attempt"` // 1 for the first
	Provider string `json:"provider"`
	Class    Class  `json:"class"`
	Status   int    `json:"status"` // the HTTP status; 0 when there was no answer
	Detail   string `json:"detail,omitempty"`
	At       Time   `json:"at"` // when the call began
	Millis   int64  `json:"ms"` // how long it took

	// Credits is what the call cost by the provider's configured price; 0 for a call
	// that the provider does not charge, and for one that was not made.
	Credits float64 `json:"credits,omitempty"`
	// Conflicts are the values that this answer has and that were not taken, because
	// a better one is known. They are personal data, and not for logs.
	Conflicts map[Field]string `json:"conflicts,omitempty"`
}

// An Outcome is what became of a lead.
type Outcome struct {
	LeadID     string           `json:"lead_id"`
	RequestID  string           `json:"request_id"`
	Source     string           `json:"source"`
	SourceID   string           `json:"source_id"`
	Status     Status           `json:"status"`
	Reason     string           `json:"reason"`
	Profile    Profile          `json:"profile"`
	Missing    []Field          `json:"missing"`
	Provenance map[Field]Origin `json:"provenance"`
	Trail      []TrailEntry     `json:"trail"`
	// Credits are what the lead cost so far, by provider, in all its runs.
	Credits    map[string]float64 `json:"credits"`
	AcceptedAt Time               `json:"accepted_at"`
	StartedAt  Time               `json:"started_at"`
	SettledAt  Time               `json:"settled_at"`
}

// Score orders outcomes of one lead: the higher one is the better one, and only
// a better one replaces another. Within a status, first the one that misses fewer
// wanted fields is better, then the one that knows more.
func (o Outcome) Score() int {
	rank := map[Status]int{StatusPartial: 2, StatusEnriched: 3, StatusSuppressed: 4}[o.Status]
	return rank*10_000 + (99-min(len(o.Missing), 99))*100 + min(len(o.Profile), 99)
}

// Summary is the trail in one line, for people: each provider with the classes
// of its answers in order, repeats counted. It holds no personal data.
//
//	clearbit: transient 503 x4; hunter: no_data 404
func Summary(trail []TrailEntry) string {
	type run struct {
		provider, what string
		n              int
	}
	var runs []run
	for _, e := range trail {
		what := string(e.Class)
		switch {
		case e.Status != 0:
			what = fmt.Sprintf("%s %d", e.Class, e.Status)
		case e.Detail != "":
			what += " (" + e.Detail + ")"
		}
		if n := len(runs); n > 0 && runs[n-1].provider == e.Provider && runs[n-1].what == what {
			runs[n-1].n++
			continue
		}
		runs = append(runs, run{e.Provider, what, 1})
	}
	var b strings.Builder
	for i, r := range runs {
		switch {
		case i > 0 && runs[i-1].provider == r.provider:
			b.WriteString(", ")
		case i > 0:
			b.WriteString("; ")
			fallthrough
		default:
			b.WriteString(r.provider + ": ")
		}
		b.WriteString(r.what)
		if r.n > 1 {
			fmt.Fprintf(&b, " x%d", r.n)
		}
	}
	return b.String()
}
