package credits

import (
	"backstop/outage"
	"time"
)

// What tests of ages and amounts need to know.
const (
	Every     = every
	LookAgain = outage.RetryAfter
	KeptOn    = keptOn
)

// Micros is how an amount is counted.
func Micros(credits float64) int64 { return int64(microsOf(credits)) }

// Day and Month are the periods that contain t.
func Day(t time.Time) (begins, ends time.Time)   { s := spanOf(perDay, t); return s.begins, s.ends }
func Month(t time.Time) (begins, ends time.Time) { s := spanOf(perMonth, t); return s.begins, s.ends }
