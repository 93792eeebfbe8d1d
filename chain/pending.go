package chain

import "time"

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
