package resilience

import (
	"math"
	"time"
)

// Retry is the schedule of retries after transient failures.
type Retry struct {
	Max    int           // retries for each lead, over all its providers
	Base   time.Duration // before the first retry
	Factor float64       // each further delay is the one before times this
	Budget time.Duration // from the beginning of the first failed call to the end of the last
}

// DefaultRetry is 1 s, 2 s, 4 s, at most three, within 10 s.
var DefaultRetry = Retry{Max: 3, Base: time.Second, Factor: 2, Budget: 10 * time.Second}

// Delay is the least time between the end of a failed call and its n-th retry,
// n counting from 1.
func (r Retry) Delay(n int) time.Duration {
	d := float64(r.Base) * math.Pow(r.Factor, float64(n-1))
	if !(d <= float64(r.Budget)) { // also where the product overflows, or is none at all
		return r.Budget
	}
	return time.Duration(d)
}

// reserve is the part of the budget kept back for each provider that has not had
// its turn yet, so that one provider that hangs cannot use up the time of those
// behind it. It is also the shortest call worth beginning.
func (r Retry) reserve() time.Duration { return r.Budget / 20 }

// Pending is how an answer "still being looked up" is asked for again.
type Pending struct {
	First time.Duration // before the first repetition; doubled after each
	Max   time.Duration // from the first such answer on; then the chain goes on without
}

// DefaultPending asks again after 2 s, 4 s, 8 s, … for two minutes.
var DefaultPending = Pending{First: 2 * time.Second, Max: 2 * time.Minute}

// delay is the wait before the n-th repetition, n counting from 1; the provider
// may ask for more.
func (p Pending) delay(n int, asked time.Duration) time.Duration {
	d := p.First
	for i := 1; i < n && d < p.Max; i++ {
		d *= 2
	}
	return max(d, asked)
}
