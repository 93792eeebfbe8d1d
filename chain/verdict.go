package chain

import (
	"time"

	"backstop/lead"
)

// A Kind says what is to happen to a lead after a walk.
type Kind string

// The kinds of verdict.
const (
	KindFull      Kind = "full"      // every wanted field is there, and a provider was heard
	KindRetry     Kind = "retry"     // a call failed: walk again at Verdict.At; a retry is used up
	KindSnooze    Kind = "snooze"    // nothing failed: walk again at Verdict.At
	KindNegative  Kind = "negative"  // all answered, not all is known; asking again would buy the same
	KindExhausted Kind = "exhausted" // something failed for good and the profile is not full
	KindSuppress  Kind = "suppress"  // the person opted out of processing
)

// A Verdict is the end of a walk.
type Verdict struct {
	Kind  Kind
	At    time.Time         // KindRetry, KindSnooze: not before
	Why   string            // KindRetry, KindSnooze: what the lead waits for
	Trail []lead.TrailEntry // what happened in this walk

	// Crowded: KindSnooze because there are more leads than the rate limit lets
	// pass. To take another lead at once would only put that one back, too.
	Crowded bool
}
