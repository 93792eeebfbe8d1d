package lead

// A Run is one generation of a lead: from its acceptance, or a replay, to its outcome.
type Run struct {
	LeadID     string
	Generation int // from 1
}
