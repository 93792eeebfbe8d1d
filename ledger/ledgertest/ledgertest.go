// Package ledgertest is the suite of tests that every database under a ledger
// must pass. It holds the promises of package ledger, one test for each.
package ledgertest

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"backstop/lead"
	"backstop/ledger"
)

// An Opener opens a ledger on an empty database and closes it when t ends.
type Opener func(t *testing.T, o ledger.Options) *ledger.Ledger

// A Text is all that a ledger's database holds, as one text.
type Text func(t *testing.T, l *ledger.Ledger) string

// Run runs the suite. Every test in it gets a database of its own.
func Run(t *testing.T, open Opener, text Text, change Change) {
	for _, test := range []func(*testing.T, Opener){
		acceptsInOrder, acceptsTwiceOnce, acceptsAgain, acceptsManyAtOnce, acceptsConcurrently, acceptsAnyText, marksEnqueued,
		savesAttempts, savesOldGenerations, refusesUnknownLeads,
		settles, ordersOutcomes, neverFalls, concurrentSettlesEndAtTheBest, settlesAnyText, settlesGenerations,
		fencesAttempts, fencesSettlements, fallbackOvertakesNobody, fencesRunsBeforeAReplay, oneOfManyRunsGoesOn,
		repeatsWritesOnce, repeatsSettlementsOfTheFallback, keepsAlikeEntriesOfOneWrite, repeatsWithinAGroup,
		sparesCompanions, leavesWithItsContext, endsWithClose,
		pagesOutcomes, filtersOutcomes, readsEachOnce, stopsEarly, readsOutcomesInProgress,
		findsLeads, readsManyLeads, pagesLiveLeads, pagesUnqueuedLeads, knowsWhichAreSettled, counts, seesWhetherAnyLeadIsLive, measures, measuresNothing, keepsDirectoryEntries, reopens, answersPing,
	} {
		t.Run(name(test), func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
	for _, test := range []func(*testing.T, Opener, Text){
		turnsAwayInEverySpelling, turnsAwayWithinABatch, asksForAnAddress, settlesTheSuppressed, redactsTheOtherLeads,
		forgets, forgetsAll, forgetsWhileOthersWrite, suppressesWhileOthersWrite,
		suppressesWhoWasFound, forgetsWhoWasOnlyMentioned, redactsWhoWasOnlyMentioned, keepsAwayByName,
		keepsCreditsAndConflicts, addsUpSpending, countsRepeatedCallsOnce, expiresLeads, expiresTrails, expiresBothAtOnce, listsWhatExpires, expiresCircuitEvents,
	} {
		t.Run(name(test), func(t *testing.T) {
			t.Parallel()
			test(t, open, text)
		})
	}
	for _, test := range []func(*testing.T, Opener, Change){
		readsBesideDamagedLeads, exportsBesideDamagedOutcomes, settlesWithDamagedCredits,
	} {
		t.Run(name(test), func(t *testing.T) {
			t.Parallel()
			test(t, open, change)
		})
	}
}

// name is the name of a test function.
func name(test any) string {
	full := runtime.FuncForPC(reflect.ValueOf(test).Pointer()).Name()
	return full[strings.LastIndexByte(full, '.')+1:]
}

// clock is a clock that stands still until it is moved.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) lead.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
	return lead.At(c.t)
}

// makeLead is a lead like others, with the number n in all that tells it apart.
func makeLead(n int) lead.Lead {
	return lead.Lead{
		Source: "crm", SourceID: fmt.Sprintf("r-%05d", n), Email: fmt.Sprintf("p%d@acme.example", n),
		Name: fmt.Sprintf("Person %d", n), Company: "Acme",
	}
}

// accept takes the leads first to first+n-1 into the ledger.
func accept(t *testing.T, l *ledger.Ledger, first, n int) []ledger.Accepted {
	t.Helper()
	var leads []lead.Lead
	for i := range n {
		leads = append(leads, makeLead(first+i))
	}
	accepted, err := l.Accept(t.Context(), leads)
	if err != nil {
		t.Fatal(err)
	}
	return accepted
}

// settlement of a lead's first generation with so many profile fields known and
// so many wanted ones missing.
func settlement(leadID string, status lead.Status, known, missing int) ledger.Settlement {
	s := ledger.Settlement{LeadID: leadID, Generation: 1, Status: status, Reason: string(status)}
	for _, f := range lead.Fields[:known] {
		s.Facts.Merge(lead.Profile{f: "known " + string(f)}, lead.Origin{Provider: "clearbit"}, nil)
	}
	s.Missing = append(s.Missing, lead.Fields[len(lead.Fields)-missing:]...)
	return s
}

// settle settles and fails the test on an error.
func settle(t *testing.T, l *ledger.Ledger, s ledger.Settlement) ledger.Settled {
	t.Helper()
	settled, err := l.Settle(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return settled
}

// entry is a trail entry that can be told from others by its detail.
func entry(attempt int, detail string, at lead.Time) lead.TrailEntry {
	return lead.TrailEntry{Attempt: attempt, Provider: "clearbit", Class: lead.ClassTransient, Status: 503, Detail: detail, At: at, Millis: 17}
}

// get reads a lead and fails the test on an error.
func get(t *testing.T, l *ledger.Ledger, leadID string) ledger.Record {
	t.Helper()
	r, err := l.Get(t.Context(), leadID)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// outcome reads an outcome and fails the test on an error.
func outcome(t *testing.T, l *ledger.Ledger, leadID string) lead.Outcome {
	t.Helper()
	o, err := l.Outcome(t.Context(), leadID)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// outcomes reads all outcomes of a filter and fails the test on an error.
func outcomes(t *testing.T, l *ledger.Ledger, f ledger.Filter) []lead.Outcome {
	t.Helper()
	var all []lead.Outcome
	for o, err := range l.Outcomes(t.Context(), f) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	return all
}

// details lists the details of a trail.
func details(trail []lead.TrailEntry) []string {
	var all []string
	for _, e := range trail {
		all = append(all, e.Detail)
	}
	return all
}
