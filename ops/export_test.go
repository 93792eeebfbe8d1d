package ops

import "golang.org/x/time/rate"

// Pace is what spreads the batches of a replay.
func Pace(r Replayer) *rate.Limiter { return r.pace() }
