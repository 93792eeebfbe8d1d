package sandbox_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/providers/sandbox"
)

func TestTheLimitIsExact(t *testing.T) {
	for _, provider := range vendors {
		t.Run(provider, func(t *testing.T) {
			s := start(t, sandbox.Script{Limits: map[string]sandbox.Limit{provider: {Rate: 20, Per: time.Hour}}})
			var all sync.WaitGroup
			statuses := make(chan int, 50)
			for range 50 {
				all.Go(func() {
					status, _, _ := get(t.Context(), s, provider, "a.b@acme.example")
					statuses <- status
				})
			}
			all.Wait()
			close(statuses)
			got := map[int]int{}
			for status := range statuses {
				got[status]++
			}
			tooFast := map[string]int{sandbox.Clearbit: 429, sandbox.Hunter: 403, sandbox.PDL: 429}[provider]
			if want := map[int]int{200: 20, tooFast: 30}; !cmp.Equal(got, want) {
				t.Errorf("answers are %v, want %v", got, want)
			}
			b := s.Books().Providers[provider]
			if b.OverLimit != 30 || b.Calls != 50 || b.MostForOnePerson != 50 || b.People != 1 || b.MostInAnyWindow != 50 || !cmp.Equal(b.ByStatus, got) {
				t.Errorf("books are %+v", b)
			}
		})
	}
}

func TestTheWindowMovesOn(t *testing.T) {
	s := start(t, sandbox.Script{Limits: map[string]sandbox.Limit{sandbox.Clearbit: {Rate: 2, Per: 200 * time.Millisecond}}})
	deadline := time.Now().Add(10 * time.Second)
	passed := 0
	for passed < 7 && time.Now().Before(deadline) {
		if status, _, _ := get(t.Context(), s, sandbox.Clearbit, "a.b@acme.example"); status == 200 {
			passed++
		}
	}
	b := s.Books().Providers[sandbox.Clearbit]
	if took := b.Last.Sub(b.First); passed != 7 || took < 600*time.Millisecond {
		t.Errorf("%d calls passed in %s; 7 need 600ms", passed, took)
	}
	if b.OverLimit != b.ByStatus[429] || b.ByStatus[200] != 7 {
		t.Errorf("books are %+v", b)
	}
}

func TestALimitMayDropOrOnlyCount(t *testing.T) {
	s := start(t, sandbox.Script{Limits: map[string]sandbox.Limit{
		sandbox.Clearbit: {Rate: 1, Per: time.Hour, Enforce: sandbox.EnforceDrop},
		sandbox.Hunter:   {Rate: 1, Per: time.Hour, Enforce: sandbox.EnforceNone},
	}})
	for _, provider := range vendors {
		if status, _, _ := get(t.Context(), s, provider, "a.b@acme.example"); status != 200 {
			t.Errorf("first answer of %s is %d", provider, status)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if status, _, _ := get(ctx, s, sandbox.Clearbit, "a.b@acme.example"); status != 0 {
		t.Errorf("clearbit answered a dropped call with %d", status)
	}
	if status, _, _ := get(t.Context(), s, sandbox.Hunter, "a.b@acme.example"); status != 200 {
		t.Errorf("hunter answered with %d", status)
	}
	await(t, func() bool { return s.Books().Providers[sandbox.Clearbit].Open == 0 })
	c, h := s.Books().Providers[sandbox.Clearbit], s.Books().Providers[sandbox.Hunter]
	if c.Dropped != 1 || c.OverLimit != 1 || c.ByStatus[0] != 1 || h.OverLimit != 1 || h.Dropped != 0 {
		t.Errorf("books are %+v and %+v", c, h)
	}
}

func TestClearbitTellsTheStateOfItsLimit(t *testing.T) {
	dates := 0
	for seed := range uint64(8) {
		s := start(t, sandbox.Script{Seed: seed, Limits: map[string]sandbox.Limit{sandbox.Clearbit: {Rate: 3, Per: time.Minute}}})
		_, h, _ := get(t.Context(), s, sandbox.Clearbit, "a.b@acme.example")
		if h.Get("X-RateLimit-Limit") != "3" || h.Get("X-RateLimit-Remaining") != "2" {
			t.Errorf("header is %v", h)
		}
		if reset := h.Get("X-RateLimit-Reset"); len(reset) == 10 {
			dates++
		} else if reset != "60" {
			t.Errorf("reset is %q", reset)
		}
	}
	if dates == 0 || dates == 8 {
		t.Errorf("%d of 8 accounts are told dates", dates)
	}
}
