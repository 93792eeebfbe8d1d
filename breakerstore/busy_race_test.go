//go:build race

package breakerstore_test

import "time"

// What is asked for under the race detector, which makes everything some ten times slower.
const (
	busy   = 500 * time.Millisecond // by how much a busy machine may be late
	uneven = 0.6                    // how far a replica's part may be from the mean
	used   = 0.8                    // the part of a limit that must be used
	slack  = 20 * time.Millisecond  // how long a call may be on its way from the gate to the test's clock

	// How long a message of Redis may be on its way to another process. It takes
	// about 0.1 ms where there is nothing else to do.
	delivery = 200 * time.Millisecond
)
