//go:build race

package breakerstore_test

import "time"

// busy is by how much a busy machine under the race detector may be late.
const busy = 500 * time.Millisecond
