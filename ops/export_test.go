package ops

import "context"

// A Pacer spreads the batches of a replay.
type Pacer struct{ *replayPace }

// Pace is the replayer's.
func Pace(r Replayer) Pacer { return Pacer{r.pace()} }

// Batch is how many leads go at once.
func (p Pacer) Batch() int { return p.batch() }

// Wait returns when the next leads may go.
func (p Pacer) Wait(ctx context.Context, n int) error { return p.wait(ctx, n) }
