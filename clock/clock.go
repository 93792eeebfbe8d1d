// Package clock waits: for a while, or again and again, and no longer than a context.
package clock

import (
	"context"
	"time"
)

// Sleep waits for d, or returns ctx.Err() when that ends first. With
// d of 0 or less it only looks at ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Every calls do every d until ctx ends, first after d.
func Every(ctx context.Context, d time.Duration, do func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}
