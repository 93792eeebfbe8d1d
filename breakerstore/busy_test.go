//go:build !race

package breakerstore_test

import "time"

// busy is by how much a busy machine may be late.
const busy = 50 * time.Millisecond
