package ledgertest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
)

func findsLeads(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	var accepted []ledger.Accepted
	for _, ld := range []lead.Lead{
		{Source: "a", SourceID: "1", Email: "jane.doe@gmail.com"},
		{Source: "b", SourceID: "1", Email: "janedoe+work@gmail.com"},
		{Name: "No Address", Company: "Acme"},
		{Email: "m@xn--bcher-kva.example"},
	} {
		got, err := l.Accept(t.Context(), []lead.Lead{ld})
		if err != nil {
			t.Fatal(err)
		}
		accepted = append(accepted, got...)
		c.advance(time.Second)
	}
	for _, test := range []struct {
		name, key string
		want      []int
	}{
		{"a lead ID", accepted[0].LeadID, []int{0}},
		{"a request ID, with spaces around", " " + accepted[2].RequestID + "\n", []int{2}},
		{"an address as it was given", "jane.doe@gmail.com", []int{1, 0}},
		{"an address in another spelling", "Jane <JANE.DOE+x@GoogleMail.com>", []int{1, 0}},
		{"an address with a Unicode domain", "M@Bücher.example", []int{3}},
		{"an address that no lead has", "john@gmail.com", nil},
		{"nothing", "", nil},
		{"a name", "No Address", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, err := l.Find(t.Context(), test.key)
			var got []int
			for _, r := range found {
				got = append(got, slices.IndexFunc(accepted, func(a ledger.Accepted) bool { return a.LeadID == r.LeadID }))
			}
			if !cmp.Equal(got, test.want) || (err == nil) != (test.want != nil) {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

func counts(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	accepted := accept(t, l, 0, 6)
	for i, status := range []lead.Status{lead.StatusEnriched, lead.StatusPartial, lead.StatusPartial, lead.StatusSuppressed} {
		settle(t, l, settlement(accepted[i].LeadID, status, 1, 0))
	}
	if _, err := l.Reopen(t.Context(), []lead.Run{{LeadID: accepted[1].LeadID, Generation: 1}}); err != nil {
		t.Fatal(err)
	}
	got, err := l.Counts(t.Context())
	want := ledger.Counts{Accepted: 6, Open: 2, Live: 3, Settled: map[lead.Status]int64{
		lead.StatusEnriched: 1, lead.StatusPartial: 2, lead.StatusSuppressed: 1,
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func seesWhetherAnyLeadIsLive(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	check := func(when string, want bool) {
		t.Helper()
		if got, err := l.AnyLive(t.Context()); got != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", when, got, err, want)
		}
	}
	check("an empty ledger", false)
	accepted := accept(t, l, 0, 2)
	check("two open leads", true)
	settle(t, l, settlement(accepted[0].LeadID, lead.StatusPartial, 1, 1))
	check("one of them settled", true)
	settle(t, l, settlement(accepted[1].LeadID, lead.StatusEnriched, 1, 0))
	check("both settled", false)
	if _, err := l.Reopen(t.Context(), []lead.Run{{LeadID: accepted[0].LeadID, Generation: 1}}); err != nil {
		t.Fatal(err)
	}
	check("one replayed", true)
}

func measures(t *testing.T, open Opener) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	begin := c.now()
	const n = 100
	accepted := accept(t, l, 0, n)
	waited := time.Duration(0)
	for i, a := range accepted { // waits and latencies of 1 to 100 ms, in another order for the latter
		waited += time.Millisecond
		now := c.advance(time.Millisecond)
		s := settlement(a.LeadID, lead.StatusEnriched, 1, 0)
		s.StartedAt = lead.At(now.Add(-time.Duration((i*37)%n+1) * time.Millisecond))
		switch {
		case i < 10: // retried, and the retry helped
			s.Retries = 2
		case i < 15: // retried, and the fallback helped
			s.Retries, s.Fallback = 3, true
		case i < 18: // retried in vain
			s.Retries, s.Fallback, s.Status = 3, true, lead.StatusPartial
		case i < 20: // never started
			s.StartedAt = lead.Time{}
		}
		settle(t, l, s)
	}
	for i, to := range []string{"open", "half-open", "closed", "open"} {
		for _, provider := range []string{"clearbit", "hunter"}[i%2:] {
			if err := l.RecordTransition(t.Context(), ledger.CircuitEvent{Provider: provider, From: "closed", To: to, Reason: "5 failures", Replica: "a", At: c.now()}); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := ledger.Measures{
		Leads: n, Retried: 18, RetriedOK: 10, Fallback: 8, WaitP50: 50 * time.Millisecond, WaitP99: 99 * time.Millisecond,
		Trips: map[string]int64{"clearbit": 1, "hunter": 2},
	}
	for _, since := range []time.Time{{}, begin} {
		got, err := l.Measures(t.Context(), since)
		want.LatencyP50, want.LatencyP99 = latencyPercentiles(n)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("since %v: %v (-want +got):\n%s", since, err, diff)
		}
	}
	// A better outcome that comes much later is no longer wait.
	c.advance(time.Hour)
	better := settlement(accepted[15].LeadID, lead.StatusEnriched, 5, 0)
	settle(t, l, better)
	got, err := l.Measures(t.Context(), c.now())
	if err != nil || got.Leads != 1 || got.WaitP99 != 16*time.Millisecond || got.Retried != 0 || got.Fallback != 0 || len(got.Trips) != 0 {
		t.Errorf("after a better outcome: %+v, %v", got, err)
	}
}

// latencyPercentiles computes the percentiles of measures by sorting.
func latencyPercentiles(n int) (p50, p99 time.Duration) {
	var all []time.Duration
	for i := range n {
		if i < 18 || i >= 20 {
			all = append(all, time.Duration((i*37)%n+1)*time.Millisecond)
		}
	}
	slices.Sort(all)
	rank := func(p float64) time.Duration { return all[int(math.Ceil(p*float64(len(all))))-1] }
	return rank(0.50), rank(0.99)
}

func measuresNothing(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	got, err := l.Measures(t.Context(), time.Time{})
	if diff := cmp.Diff(ledger.Measures{Trips: map[string]int64{}}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func keepsDirectoryEntries(t *testing.T, open Opener) {
	l, ctx := open(t, ledger.Options{}), t.Context()
	asOf := time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)
	person := func(email, title string, asOf time.Time) ledger.DirectoryEntry {
		return ledger.DirectoryEntry{Email: email, Profile: lead.Profile{lead.PersonTitle: title}, AsOf: asOf}
	}
	for _, test := range []struct {
		people            []ledger.DirectoryEntry
		inserted, updated int
	}{
		{[]ledger.DirectoryEntry{person("j.doe@gmail.com", "CTO", asOf), person("bo@acme.example", "CEO", time.Time{})}, 2, 0},
		{[]ledger.DirectoryEntry{person("JDoe+x@googlemail.com", "old", asOf), person("jdoe@gmail.com", "CIO", asOf), person("al@acme.example", "CFO", asOf)}, 1, 1},
		{nil, 0, 0},
	} {
		put, err := l.PutEntries(ctx, test.people)
		if err != nil || put != (ledger.Put{Inserted: test.inserted, Updated: test.updated}) {
			t.Errorf("got %+v, %v, want %d, %d", put, err, test.inserted, test.updated)
		}
	}
	for email, want := range map[string]string{"J.Doe@GMAIL.com": "CIO", "mailto:bo@acme.example": "CEO", "al@acme.example": "CFO", "no@acme.example": "", "": "", "rubbish": ""} {
		p, at, ok, err := l.LookupEntry(ctx, email)
		if err != nil || ok != (want != "") || p[lead.PersonTitle] != want {
			t.Errorf("%q: got %v, %v, %v, want %q", email, p, ok, err, want)
		}
		if known := ok && want != "CEO"; known && !at.Equal(asOf) || !known && !at.IsZero() {
			t.Errorf("%q is of %v", email, at)
		}
	}
	_, err := l.PutEntries(ctx, []ledger.DirectoryEntry{person("new@acme.example", "x", asOf), person("secret name", "x", asOf)})
	if err == nil || !strings.Contains(err.Error(), "entry 2") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want an error that names the entry and not the person", err)
	}
	if _, _, ok, err := l.LookupEntry(ctx, "new@acme.example"); ok || err != nil {
		t.Errorf("a call that failed left an entry (%v)", err)
	}
}

func reopens(t *testing.T, open Opener) {
	l, ctx := open(t, ledger.Options{}), t.Context()
	accepted := accept(t, l, 0, 3)
	settled, live := accepted[0].LeadID, accepted[1].LeadID
	if _, err := l.SaveAttempt(ctx, ledger.Attempt{LeadID: settled, Generation: 1, StartedAt: lead.At(time.Now()), Retries: 3, Progress: []byte("p")}); err != nil {
		t.Fatal(err)
	}
	settle(t, l, settlement(settled, lead.StatusPartial, 1, 1))
	settle(t, l, settlement(accepted[2].LeadID, lead.StatusPartial, 1, 1))
	refs := []lead.Run{{LeadID: settled, Generation: 1}, {LeadID: live, Generation: 1}, {LeadID: accepted[2].LeadID, Generation: 2}, {LeadID: "ld_unknown", Generation: 1}}
	for _, want := range [][]lead.Run{{{LeadID: settled, Generation: 2}}, nil} { // the second time there is nothing left
		got, err := l.Reopen(ctx, refs)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	r := get(t, l, settled)
	if !r.Live() || r.Generation != 2 || r.Progress != nil || !r.StartedAt.IsZero() || !r.EnqueuedAt.IsZero() || r.Status != lead.StatusPartial {
		t.Errorf("got %+v", r)
	}
	if again := accept(t, l, 0, 1)[0]; !again.Live || again.Generation != 2 || !again.Duplicate {
		t.Errorf("got %+v", again)
	}
}

func answersPing(t *testing.T, open Opener) {
	l := open(t, ledger.Options{})
	if err := l.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Ping(t.Context()); err == nil {
		t.Error(fmt.Errorf("a closed ledger answers"))
	}
}
