package credits

import "time"

const (
	// unwritten is the longest time from a call's settlement to the ledger: the trail
	// of a walk is written when the walk ends.
	unwritten = 30 * time.Second
	// remembered is how long a tally holds what was spent: as long as a reading of
	// the ledger is used that may lack it.
	remembered = oldest + unwritten
)

// A tally is what this process has reserved and lately spent at a provider, by the
// day of the reservation. It is what the ledger may not know yet.
type tally struct {
	held  map[time.Time]micros
	spent []expense // in the order in which they were settled
}

// An expense is what was spent within a second.
type expense struct {
	second time.Time
	day    time.Time
	sum    micros
}

func (t *tally) hold(at time.Time, price micros) {
	if t.held == nil {
		t.held = map[time.Time]micros{}
	}
	t.held[dayOf(at)] += price
}

func (t *tally) settle(at time.Time, price, spent micros, now time.Time) {
	day, second := dayOf(at), now.UTC().Truncate(time.Second)
	if t.held[day] -= price; t.held[day] == 0 {
		delete(t.held, day)
	}
	stale := 0
	for stale < len(t.spent) && second.Sub(t.spent[stale].second) > remembered {
		stale++
	}
	t.spent = t.spent[stale:]
	if spent == 0 {
		return
	}
	if n := len(t.spent); n > 0 && t.spent[n-1].second.Equal(second) && t.spent[n-1].day.Equal(day) {
		t.spent[n-1].sum += spent
		return
	}
	t.spent = append(t.spent, expense{second, day, spent})
}

// of is what counts for the period that contains at: all that is under way, and
// what was spent since, which is rounded down to a second.
func (t *tally) of(per string, at, since time.Time) (sum micros) {
	begins := spanOf(per, at).begins
	for day, held := range t.held {
		if spanOf(per, day).begins.Equal(begins) {
			sum += held
		}
	}
	since = since.Truncate(time.Second)
	for _, e := range t.spent {
		if spanOf(per, e.day).begins.Equal(begins) && !e.second.Before(since) {
			sum += e.sum
		}
	}
	return sum
}
