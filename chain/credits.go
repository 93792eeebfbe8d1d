package chain

import (
	"context"
	"fmt"
	"time"

	"backstop/lead"
)

// Credits are what the fleet may spend at the providers that have a cap. What was
// spent is also in the trail, entry by entry, and so in the ledger.
//
// A worker that dies between a call and the record of it leaves its reservation as
// it was and no entry in the trail: the cap counts the price, and the lead's
// credits do not. The run after it finds the answer where answers are kept, which
// costs nothing, or else makes the call again, which is reserved and recorded like
// any other. A cap may thus be used up early by such calls, but is not exceeded. So
// it is by a call that was cut short after it was sent, and by one that was ordered
// with a ticket and came to nothing. One that panics is given back.
type Credits interface {
	// Reserve sets the price of one call aside, for all replicas. The error is a
	// *[CapReached] when a cap has no room for it, or ctx's own.
	Reserve(ctx context.Context, provider string, price float64) (Reservation, error)
}

// A Reservation is the price of one call that was set aside.
type Reservation interface {
	// Commit says what the call cost in the end; the rest is given back. Only the
	// first Commit counts. It goes on when ctx ends, for a bounded time.
	Commit(ctx context.Context, spent float64)
}

// CapReached is the error of a call that would cost more than a provider's cap
// leaves.
type CapReached struct {
	Provider string
	Cap      float64   // in credits
	Per      string    // "day" or "month", of UTC
	Until    time.Time // when the next one begins
	// Unknown: nothing could say what was spent, so that the cap may have been reached;
	// Until is then when it is worth asking again.
	Unknown bool
}

func (e *CapReached) Error() string {
	return e.Provider + ": " + e.detail()
}

// detail is the error as a trail shows it, beside the provider's name.
func (e *CapReached) detail() string {
	if e.Unknown {
		return fmt.Sprintf("nothing can say whether the cap of %g credits a %s is reached", e.Cap, e.Per)
	}
	return fmt.Sprintf("the cap of %g credits a %s is reached until %s", e.Cap, e.Per, lead.At(e.Until))
}

// free is that of a call that costs nothing or has no cap.
type free struct{}

func (free) Commit(context.Context, float64) {}
