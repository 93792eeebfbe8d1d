package credits_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"backstop/chain"
	"backstop/credits"
	"backstop/testkit"
)

func TestACapIsUsedToTheLastAndNotBeyond(t *testing.T) {
	for name, c := range map[string]struct{ cap, price float64 }{
		"whole credits":       {10, 1},
		"halves":              {5, 0.5},
		"tenths of a credit":  {1, 0.1},
		"seven hundredths":    {0.7, 0.07},
		"millionths":          {0.00001, 0.000001},
		"what floats are not": {11, 1.1},
		"the largest cap":     {1e9, 1e8},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, addr string) {
				one, other := newReplica(t, addr, &books{}, c.cap, 0), newReplica(t, addr, &books{}, c.cap, 0)
				for i := range 10 {
					[]*replica{one, other}[i%2].pay(c.price)
				}
				one.full(c.price)
				other.full(0.000001)
				want := []credits.Usage{{Provider: api, Per: "day", Used: c.cap, Cap: c.cap}}
				if d := cmp.Diff(want, other.usage()); d != "" {
					t.Errorf("usage (-want +got)\n%s", d)
				}
			})
		})
	}
}

func TestWhatACallDidNotCostIsGivenBackOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		for name, c := range map[string]struct{ spent, left float64 }{
			"it was free": {0, 2}, "it cost less": {0.5, 1.5}, "it cost its price": {2, 0}, "it cost more": {7, 0},
			"it cost less than nothing": {-3, 2}, "it cost what is no number": {math.NaN(), 0},
		} {
			prefix := func(o *credits.Options) { o.Prefix = strings.ReplaceAll(name, " ", "-") }
			r := newReplica(t, addr, &books{}, 10, 0, prefix)
			r.pay(8)
			call := r.must(2)
			r.full(0.000001)
			call.Commit(t.Context(), c.spent)
			call.Commit(t.Context(), 0)
			if used := r.usage()[0].Used; used != 10-c.left {
				t.Errorf("%s: %g is used", name, used)
			}
		}
	})
}

func TestCommitGoesOnWhenTheCallerIsGone(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r := newReplica(t, addr, &books{}, 1, 0)
		call := r.must(1)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		call.Commit(gone, 0)
		if got := counter(t, client(t, addr)); got != 0 {
			t.Errorf("%d micro-credits are counted", got)
		}
	})
}

func TestARefusalSaysWhichCapAndUntilWhen(t *testing.T) {
	midnight, april := time.Date(2026, 3, 18, 0, 0, 0, 0, time.UTC), time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		day, month, spent, price float64
		want                     chain.CapReached
	}{
		"the day's":               {1, 0, 1, 0.5, chain.CapReached{Cap: 1, Per: "day", Until: midnight}},
		"the month's":             {0, 1, 1, 0.5, chain.CapReached{Cap: 1, Per: "month", Until: april}},
		"the day's first":         {1, 2, 1, 0.5, chain.CapReached{Cap: 1, Per: "day", Until: midnight}},
		"both: the later one":     {1, 1, 1, 0.5, chain.CapReached{Cap: 1, Per: "month", Until: april}},
		"a day's above a month's": {5, 1, 1, 0.5, chain.CapReached{Cap: 1, Per: "month", Until: april}},
		"no room for so much":     {2, 0, 1, 1.5, chain.CapReached{Cap: 2, Per: "day", Until: midnight}},
		"more than any cap":       {2, 0, 1, 1e300, chain.CapReached{Cap: 2, Per: "day", Until: midnight}},
		"a price that is none":    {2, 0, 1, math.NaN(), chain.CapReached{Cap: 2, Per: "day", Until: midnight}},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, addr string) {
				r := newReplica(t, addr, &books{}, c.day, c.month)
				r.pay(c.spent)
				c.want.Provider = api
				if d := cmp.Diff(&c.want, r.full(c.price)); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
				if d := cmp.Diff(map[string]int{api + " " + c.want.Per: 1}, r.refused); d != "" {
					t.Errorf("Refused was told (-want +got)\n%s", d)
				}
			})
		})
	}
}

func TestEachPeriodBeginsAnew(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r := newReplica(t, addr, &books{}, 2, 3)
		elsewhere := time.FixedZone("UTC+9", 9*3600)
		for _, step := range []struct {
			at   time.Time
			room float64
		}{
			{time.Date(2026, 2, 27, 23, 59, 59, 999, time.UTC), 2},
			{time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC), 1},
			{time.Date(2026, 2, 28, 23, 59, 59, 0, time.UTC), 0},
			{time.Date(2026, 3, 1, 8, 59, 59, 0, elsewhere), 0}, // still February
			{time.Date(2026, 3, 1, 9, 0, 0, 0, elsewhere), 2},
			{time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), 1},
			{time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC), 2},
			{time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), 2},
		} {
			r.set(step.at)
			if step.room > 0 {
				r.pay(step.room)
			}
			full := r.full(0.5)
			if until := full.Until; !until.After(step.at) || until.Sub(step.at) > 31*24*time.Hour || until.Location() != time.UTC {
				t.Errorf("at %s it is full until %s", step.at, until)
			}
		}
	})
}

// What was reserved before midnight is given back to the day before.
func TestASettlementAfterMidnightIsOfTheDayBefore(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r := newReplica(t, addr, &books{}, 1, 0)
		late := r.must(1)
		r.advance(12 * time.Hour)
		r.pay(0.5)
		late.Commit(t.Context(), 0)
		if used := r.usage()[0].Used; used != 0.5 {
			t.Errorf("%g of the new day is used", used)
		}
		r.set(noon)
		r.pay(1)
	})
}

func TestProvidersAndPrefixesAreCountedApart(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		two := func(o *credits.Options) { o.Caps["clearbit"] = credits.Caps{Day: 2} }
		r := newReplica(t, addr, &books{}, 1, 0, two)
		other := newReplica(t, addr, &books{}, 1, 0, func(o *credits.Options) { o.Prefix = "staging" })
		r.pay(1)
		other.pay(1)
		if _, err := r.Reserve(t.Context(), "clearbit", 2); err != nil {
			t.Error(err)
		}
		want := []credits.Usage{{Provider: "clearbit", Per: "day", Used: 2, Cap: 2}, {Provider: api, Per: "day", Used: 1, Cap: 1}}
		if d := cmp.Diff(want, r.usage()); d != "" {
			t.Errorf("usage (-want +got)\n%s", d)
		}
	})
}

// There is no Redis at the address, and the ledger hangs.
func TestWhatHasNoCapAsksNobody(t *testing.T) {
	b := &books{hangs: true}
	r := newReplica(t, testkit.FreeAddr(t), b, 0, 0)
	for _, provider := range []string{api, "directory"} {
		for _, price := range []float64{0, 1, 1e12} {
			call, err := r.Reserve(t.Context(), provider, price)
			if err != nil {
				t.Fatalf("Reserve: %v", err)
			}
			call.Commit(t.Context(), price)
		}
	}
	capped := newReplica(t, testkit.FreeAddr(t), b, 1, 0)
	capped.must(0).Commit(t.Context(), 0) // a call that costs nothing
	if n := b.reads.Load(); n != 0 || len(r.usage()) != 0 {
		t.Errorf("the ledger was read %d times; usage is %v", n, r.usage())
	}
}

func TestKeysOfAProviderShareASlotAndEndAfterTheirPeriod(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		r, rdb := newReplica(t, addr, &books{}, 1, 5), client(t, addr)
		r.pay(1)
		r.full(1)
		keys := rdb.Keys(t.Context(), "*").Val()
		slices.Sort(keys)
		want := map[string]time.Duration{
			"backstop:credits:{hunter}:day:2026-03-17": 12 * time.Hour,
			"backstop:credits:{hunter}:month:2026-03":  (14*24 + 12) * time.Hour,
		}
		if len(keys) != len(want) {
			t.Errorf("the keys are %v", keys)
		}
		for key, left := range want {
			ttl := rdb.PTTL(t.Context(), key).Val()
			if over := left + credits.KeptOn - ttl; over < 0 || over > time.Minute {
				t.Errorf("%s lives for %s", key, ttl)
			}
		}
	})
}

func TestWrongOptionsAreClearErrors(t *testing.T) {
	for want, o := range map[string]credits.Options{
		`credits: key prefix "a{b": braces are not allowed`:                                                {Prefix: "a{b"},
		"credits: the time-out is negative":                                                                {Timeout: -1},
		`credits: provider "": a name without braces is needed`:                                            {Caps: map[string]credits.Caps{"": {Day: 1}}},
		`credits: provider "a}": a name without braces is needed`:                                          {Caps: map[string]credits.Caps{"a}": {}}},
		"credits: the cap of a for a day is -1: use a number of credits from 0 to 1000000000":              {Caps: map[string]credits.Caps{"a": {Day: -1}}},
		"credits: the cap of a for a month is NaN: use a number of credits from 0 to 1000000000":           {Caps: map[string]credits.Caps{"a": {Month: math.NaN()}}},
		"credits: the cap of a for a month is +Inf: use a number of credits from 0 to 1000000000":          {Caps: map[string]credits.Caps{"a": {Month: math.Inf(1)}}},
		"credits: the cap of a for a day is 1.000000001e+09: use a number of credits from 0 to 1000000000": {Caps: map[string]credits.Caps{"a": {Day: 1e9 + 1}}},
		"credits: nothing says what the ledger knows to be spent":                                          {Caps: map[string]credits.Caps{"a": {Day: 1}}},
	} {
		if !strings.Contains(want, "nothing says") {
			o.Spent = (&books{}).Spent
		}
		if _, err := credits.New(nil, o); err == nil || err.Error() != want {
			t.Errorf("the error is %v, not %s", err, want)
		}
	}
}

func TestAmountsAreRoundedUpToAMicroCredit(t *testing.T) {
	for amount, want := range map[float64]int64{
		0: 0, -1: 0, 1: 1_000_000, 0.5: 500_000, 0.1 + 0.2: 300_000, 1.1: 1_100_000, 0.29: 290_000, 1.0 / 3: 333_334,
		1e-6: 1, 1e-7: 1, 1.0000001: 1_000_001, 123456.789012: 123_456_789_012, 1e9: 1e15, 1e10: 1e15 + 1, math.Inf(1): 1e15 + 1,
	} {
		if got := credits.Micros(amount); got != want {
			t.Errorf("%v is %d micro-credits, not %d", amount, got, want)
		}
	}
	if got := credits.Micros(math.NaN()); got != 1e15+1 {
		t.Errorf("NaN is %d micro-credits", got)
	}
}

func TestOnlyTheFirstRefusalOfAPeriodIsLogged(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		var lines atomic.Int64
		hook := zerolog.HookFunc(func(_ *zerolog.Event, level zerolog.Level, _ string) {
			if level == zerolog.WarnLevel {
				lines.Add(1)
			}
		})
		r := newReplica(t, addr, &books{}, 1, 0, func(o *credits.Options) { o.Logger = zerolog.New(testWriter{t}).Hook(hook) })
		for day := range int64(3) {
			r.pay(1)
			for range 3 {
				r.full(1)
			}
			if lines.Load() != day+1 {
				t.Errorf("on day %d there are %d lines", day+1, lines.Load())
			}
			r.advance(24 * time.Hour)
		}
	})
}

// A testWriter shows what is logged if the test fails.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Logf("%s", b)
	return len(b), nil
}
