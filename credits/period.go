package credits

import (
	"math"
	"time"
)

// The periods of a cap.
const (
	perDay   = "day"
	perMonth = "month"
)

// A span is one period: a day or a month of UTC.
type span struct{ begins, ends time.Time }

// spanOf is the period that contains t.
func spanOf(per string, t time.Time) span {
	y, m, d := t.UTC().Date()
	if per == perMonth {
		return span{time.Date(y, m, 1, 0, 0, 0, 0, time.UTC), time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC)}
	}
	return span{time.Date(y, m, d, 0, 0, 0, 0, time.UTC), time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)}
}

// dayOf is when t's day begins.
func dayOf(t time.Time) time.Time { return spanOf(perDay, t).begins }

// label is the period in the name of a key.
func label(per string, begins time.Time) string {
	if per == perMonth {
		return per + ":" + begins.Format("2006-01")
	}
	return per + ":" + begins.Format(time.DateOnly)
}

// micros are millionths of a credit: sums of them are exact.
type micros int64

// maxCredits keeps every sum below 2^53, where Lua's numbers stop being exact.
const maxCredits = 1e9

// microsOf rounds up to a micro-credit, but not for what a float makes of a
// decimal fraction: a thousandth of a micro-credit is none. What is negative is
// nothing; what is no number, or more than any cap, is more than any cap.
func microsOf(credits float64) micros {
	if !(credits <= maxCredits) {
		return maxCredits*1e6 + 1
	}
	return micros(math.Ceil(math.Round(max(credits, 0)*1e9) / 1e3))
}

// nearest rounds a sum of amounts, each of which a float may have missed a little.
func nearest(credits float64) micros {
	return microsOf(math.Round(credits*1e6) / 1e6)
}

func (m micros) credits() float64 { return float64(m) / 1e6 }
