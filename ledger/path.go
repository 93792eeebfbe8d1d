package ledger

// A Path says how a lead came to its outcome.
type Path string

// The paths.
const (
	PathDirect   Path = "direct"   // without a retry
	PathRetried  Path = "retried"  // after at least one retry
	PathFallback Path = "fallback" // settled by the fallback task
)

// Path is how the lead came to the outcome.
func (s Settlement) Path() Path {
	switch {
	case s.Fallback:
		return PathFallback
	case s.Retries > 0:
		return PathRetried
	}
	return PathDirect
}
