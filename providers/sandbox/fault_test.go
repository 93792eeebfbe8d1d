package sandbox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/providers/sandbox"
)

func TestCloseEndsCallsThatHang(t *testing.T) {
	s := start(t, sandbox.Script{Faults: []sandbox.Fault{{Kind: sandbox.KindHang}}})
	answered := make(chan int, 1)
	go func() {
		status, _, _ := get(context.Background(), s, sandbox.Hunter, "a.b@acme.example")
		answered <- status
	}()
	await(t, func() bool { return s.Books().Providers[sandbox.Hunter].Open == 1 })
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if status := <-answered; status != 0 {
		t.Errorf("a call that hung got %d", status)
	}
}

func TestFaultsHitTheSamePeopleEveryTime(t *testing.T) {
	script := sandbox.Script{Seed: 3, Known: map[string]float64{sandbox.Hunter: 0.5}, Faults: []sandbox.Fault{{Provider: sandbox.Hunter, Share: 0.3, Status: 503}}}
	run := func(script sandbox.Script) (statuses []int) {
		s := start(t, script)
		for _, l := range sandbox.SampleLeads(300, 1) {
			if l.Email == "" {
				continue
			}
			status, _, _ := get(t.Context(), s, sandbox.Hunter, l.Email)
			statuses = append(statuses, status)
		}
		return statuses
	}
	first, second := run(script), run(script)
	if d := cmp.Diff(first, second); d != "" {
		t.Errorf("the same script did something else: %s", d)
	}
	count := map[int]int{}
	for _, status := range first {
		count[status]++
	}
	n := len(first)
	if count[503] < n*2/10 || count[503] > n*4/10 || count[404] < n*2/10 || count[200]+count[404]+count[503] != n {
		t.Errorf("of %d people: %v", n, count)
	}
	script.Seed++
	if cmp.Equal(first, run(script)) {
		t.Error("another seed hit the same people")
	}
}

func TestFaultsHaveTimesCallsAndMatches(t *testing.T) {
	s := start(t, sandbox.Script{Faults: []sandbox.Fault{
		{Provider: sandbox.Clearbit, Match: "*+503@*", Status: 503},
		{Provider: sandbox.Clearbit, Match: "first.*", Calls: 2, Status: 500},
		{Provider: sandbox.Clearbit, From: time.Hour, To: 2 * time.Hour, Status: 502},
	}})
	ask := func(email string, want int) {
		t.Helper()
		if status, _, _ := get(t.Context(), s, sandbox.Clearbit, email); status != want {
			t.Errorf("%s got %d, want %d", email, status, want)
		}
	}
	ask("lead+503@acme.example", 503)
	ask("lead@acme.example", 200)
	ask("first.one@acme.example", 500)
	ask("first.one@acme.example", 500)
	ask("first.one@acme.example", 200)
	ask("first.two@acme.example", 500)
	s.SetEpoch(time.Now().Add(-90 * time.Minute))
	ask("lead@acme.example", 502)
	ask("lead+503@acme.example", 503)
	s.SetEpoch(time.Now().Add(-3 * time.Hour))
	ask("lead@acme.example", 200)
	if err := s.SetFaults(sandbox.Fault{Status: 451}); err != nil {
		t.Fatal(err)
	}
	ask("lead@acme.example", 451)
	if n := s.CallsFor(sandbox.Clearbit, "lead@acme.example"); n != 4 {
		t.Errorf("%d calls about one person, want 4", n)
	}
	if err := s.SetFaults(sandbox.Fault{Status: 42}); err == nil {
		t.Error("a fault that makes no sense was taken")
	}
}

// Who is known and who is known by half is a share of all, chosen by the seed.
func TestSharesOfTheKnown(t *testing.T) {
	s := start(t, sandbox.Script{Known: map[string]float64{sandbox.Clearbit: 0.7}, Halves: map[string]float64{sandbox.Hunter: 0.5}})
	var known, halves, n int
	for _, l := range sandbox.SampleLeads(300, 5) {
		if l.Email == "" {
			continue
		}
		n++
		if s.IsKnown(sandbox.Clearbit, l.Email) {
			known++
		}
		_, _, body := get(t.Context(), s, sandbox.Hunter, l.Email)
		if strings.Contains(body, `"person":null`) || strings.Contains(body, `"company":null`) {
			halves++
		}
	}
	if known < n*6/10 || known > n*8/10 || halves < n*4/10 || halves > n*6/10 {
		t.Errorf("of %d people %d are known and %d by half", n, known, halves)
	}
}
