package credits_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/credits"
	"backstop/testkit"
)

func TestWithoutRedisAProcessKeepsToTheCapsByItself(t *testing.T) {
	b := &books{}
	b.record(api, noon.Add(-time.Hour), 4)
	r := newReplica(t, testkit.FreeAddr(t), b, 10, 12, brief)
	r.pay(1)
	under := r.must(2)
	free := r.must(3)
	r.full(0.5)
	free.Commit(t.Context(), 0)
	r.must(2).Commit(t.Context(), 7) // counts as its price
	r.pay(1)
	r.full(0.000001)
	want := []credits.Usage{{Provider: api, Per: "day", Used: 10, Cap: 10}, {Provider: api, Per: "month", Used: 10, Cap: 12}}
	if d := cmp.Diff(want, r.usage()); d != "" {
		t.Errorf("usage (-want +got)\n%s", d)
	}
	// What the ledger has by now counts once, when it is old enough.
	b.record(api, noon, 1)
	b.record(api, noon, 2)
	b.record(api, noon, 1)
	r.advance(credits.EveryAway)
	r.full(0.5)
	r.advance(credits.Unwritten)
	r.full(0.5)
	r.advance(credits.EveryAway)
	under.Commit(t.Context(), 1)
	r.pay(1)
	if full := r.full(0.5); full.Per != "day" {
		t.Errorf("%v", full)
	}
	b.record(api, noon, 2)
	r.set(noon.Add(12 * time.Hour)) // another day of the month
	r.pay(1)
	if full := r.full(2); full.Per != "month" {
		t.Errorf("%v", full)
	}
}

// A reading of the ledger lacks the calls of the walks that go on.
func TestWithoutRedisWhatIsNotWrittenDownYetCounts(t *testing.T) {
	r := newReplica(t, testkit.FreeAddr(t), &books{}, 10, 0, brief)
	r.set(noon.Add(900 * time.Millisecond))
	r.pay(10)
	r.advance(credits.EveryAway)
	r.full(0.5)
	r.set(noon.Add(credits.Unwritten + 500*time.Millisecond)) // within a second of the time
	r.full(0.5)
	r.advance(credits.EveryAway)
	r.pay(10) // it was never written down, so it was never spent
}

// Each hears of the other by the ledger, within the age of a reading.
func TestWithoutRedisOthersAreSeenThroughTheLedger(t *testing.T) {
	b := &books{}
	one, other := newReplica(t, testkit.FreeAddr(t), b, 10, 0, brief), newReplica(t, testkit.FreeAddr(t), b, 10, 0, brief)
	other.must(1).Commit(t.Context(), 0)
	one.pay(6)
	b.record(api, noon, 6)
	other.pay(5) // the overshoot that is documented
	b.record(api, noon, 5)
	for _, r := range []*replica{one, other} {
		r.advance(credits.EveryAway)
		r.full(0.5)
	}
}

func TestWithoutRedisManyAtOnceGetExactlyTheCap(t *testing.T) {
	r := newReplica(t, testkit.FreeAddr(t), &books{}, 20, 0, brief)
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		granted int
	)
	for range 30 {
		wg.Go(func() {
			for range 3 {
				if _, err := r.Reserve(context.Background(), api, 0.5); err == nil {
					mu.Lock()
					granted++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if granted != 40 {
		t.Errorf("%d calls of half a credit for 20", granted)
	}
}

func TestWhenNothingSaysWhatWasSpentNothingMoreIs(t *testing.T) {
	b := &books{}
	r := newReplica(t, testkit.FreeAddr(t), b, 10, 20, brief)
	b.set(true, false)
	full := r.full(1)
	if !full.Unknown || full.Cap != 10 || full.Per != "day" || !full.Until.Equal(noon.Add(credits.LookAgain)) {
		t.Errorf("%+v", full)
	}
	if d := cmp.Diff(map[string]int{api + " unknown": 1}, r.refused); d != "" {
		t.Errorf("Refused was told (-want +got)\n%s", d)
	}
	if all, err := r.Usage(t.Context()); err == nil || err.Error() != "usage of the credits of hunter: the ledger cannot be read" {
		t.Errorf("Usage: %v, %v", all, err)
	}
	b.set(false, false)
	r.advance(credits.LookAgain)
	r.pay(1)
	// What was read lately will do for a while, with all that was spent since.
	b.set(true, false)
	r.advance(credits.Oldest - time.Second)
	r.pay(8)
	r.full(1.5)
	r.pay(1)
	r.advance(time.Second)
	r.full(0.000001)
	if r.refused[api+" unknown"] != 2 {
		t.Errorf("Refused was told %v", r.refused)
	}
}

func TestAReadingOfYesterdayIsNoneOfToday(t *testing.T) {
	b := &books{}
	r := newReplica(t, testkit.FreeAddr(t), b, 10, 0, brief)
	r.set(time.Date(2026, 3, 17, 23, 59, 59, 0, time.UTC))
	r.pay(1)
	b.set(true, false)
	r.advance(2 * time.Second)
	r.full(1)
	if r.refused[api+" unknown"] != 1 {
		t.Errorf("Refused was told %v", r.refused)
	}
}
