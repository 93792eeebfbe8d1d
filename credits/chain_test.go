package credits_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/chain"
	"backstop/lead"
	"backstop/providers"
	"backstop/resilience"
)

// A vendor is a provider whose answer is always the same.
type vendor struct {
	name   string
	answer providers.Answer
	calls  int
}

func (v *vendor) Name() string { return v.name }

func (v *vendor) Plan(lead.Lead, []lead.Field) (calls []providers.Call, why string) {
	return []providers.Call{{Endpoint: "find", Do: func(context.Context) providers.Answer {
		v.calls++
		return v.answer
	}}}, ""
}

// A lead of a provider whose cap is reached goes to the next one, with the reason
// in its trail; what was free has cost nothing.
func TestAtTheCapALeadGoesToTheNextProvider(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r := newReplica(t, addr, &books{}, 1, 0)
		unknown := providers.Answer{Class: lead.ClassNoData, Status: 404}
		charged := providers.Answer{Class: lead.ClassNoData, Status: 404, Billed: true}
		capped, next := &vendor{name: api, answer: unknown}, &vendor{name: "clearbit", answer: unknown}
		c := &chain.Chain{
			Providers: []providers.Provider{capped, next}, Gate: resilience.NewLocalGate(nil, resilience.LocalOptions{}),
			Want: []lead.Field{lead.PersonName}, Retry: resilience.DefaultRetry, Pending: chain.DefaultPending, Now: time.Now,
			Rules: map[string]chain.Rule{api: {Credits: 1}}, Credits: r.Store,
		}
		walk := func() (said []string) {
			l := lead.Lead{Email: "ann.lee@example.com"}
			v, err := c.Walk(t.Context(), l, chain.NewProgress(l, 1, time.Now()), chain.Hooks{})
			if err != nil {
				t.Fatalf("Walk: %v", err)
			}
			for _, e := range v.Trail {
				said = append(said, e.Provider+" "+string(e.Class)+" "+e.Detail)
			}
			return said
		}
		free := []string{"hunter no_data ", "clearbit no_data "}
		for _, want := range [][]string{free, free, free} {
			if d := cmp.Diff(want, walk()); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		}
		capped.answer = charged
		walk()
		want := []string{"hunter skip the cap of 1 credits a day is reached until 2026-03-18T00:00:00.000Z", "clearbit no_data "}
		if d := cmp.Diff(want, walk()); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		if capped.calls != 4 || next.calls != 5 {
			t.Errorf("%d and %d calls", capped.calls, next.calls)
		}
	})
}
