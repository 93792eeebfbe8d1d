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
