//go:build !race

package breakerstore_test

import "time"

// What is asked for, also on a machine that does much else. The benchmark measures
// the figures proper: within 20 %, and at least 97 %.
const (
	busy   = 50 * time.Millisecond // by how much a busy machine may be late
	uneven = 0.3                   // how far a replica's part may be from the mean
	used   = 0.85                  // the part of a limit that must be used
	slack  = 0                     // how long a call may be on its way from the gate to the test's clock

	// How long a message of Redis may be on its way to another process. It takes
	// about 0.1 ms where there is nothing else to do.
	delivery = 100 * time.Millisecond
)
