package chain

import "time"

// Begun is when a progress's run began.
func Begun(p *Progress) time.Time { return p.begun() }
