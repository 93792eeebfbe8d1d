package httpjson

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The caps on what a provider may ask for.
const (
	MaxWait  = 15 * time.Minute    // a pause
	MaxQuota = 40 * 24 * time.Hour // until a plan is renewed: a month and some days of grace
)

// wait is the least time that the header asks to be left alone for, at most
// limit: the longest of all that it says, because each is a lower bound. 0 means
// that it does not say, or not in a form that is known.
func wait(h http.Header, now time.Time, limit time.Duration) time.Duration {
	longest := retryAfter(h, now, limit)
	for _, name := range []string{"X-RateLimit-Reset", "X-Rate-Limit-Reset"} { // the latter is FullContact's
		for _, v := range h.Values(name) {
			longest = max(longest, rateLimitReset(v, now, limit))
		}
	}
	return longest
}

// until is when a plan is renewed according to the header, zero if it does not say.
func until(h http.Header, now time.Time) time.Time {
	if d := wait(h, now, MaxQuota); d > 0 {
		return now.Add(d)
	}
	return time.Time{}
}

// retryAfter reads Retry-After: seconds, which some servers give with a
// fraction, or an HTTP date in any of its three forms (RFC 9110, 10.2.3 and
// 5.6.7). What is negative, past or something else is 0.
func retryAfter(h http.Header, now time.Time, limit time.Duration) time.Duration {
	var longest time.Duration
	for _, v := range h.Values("Retry-After") {
		v = strings.TrimSpace(v)
		d, ok := seconds(v, limit)
		if !ok {
			d = untilDate(v, now, limit)
		}
		longest = max(longest, d)
	}
	return longest
}

// rateLimitReset reads an X-RateLimit-Reset, which no standard defines: seconds
// left, seconds since the epoch, milliseconds since the epoch or an ISO 8601
// time, told apart by their size. What is negative, past or something else is 0.
func rateLimitReset(v string, now time.Time, limit time.Duration) time.Duration {
	v = strings.TrimSpace(v)
	d, ok := seconds(v, limit)
	if !ok {
		return untilDate(v, now, limit)
	}
	whole, _, _ := strings.Cut(v, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	switch {
	case err != nil: // beyond any date
		return limit
	case n < 1e9: // as a date it would be before 2002; as seconds left it may be 30 years
		return d
	case n < 1e12:
		return between(now, time.Unix(n, 0), limit)
	case n < 1e15:
		return between(now, time.UnixMilli(n), limit)
	}
	return limit
}

// seconds reads a plain decimal number of seconds, without sign or exponent, and
// caps it before any arithmetic could overflow. Fractions are rounded up to the
// millisecond.
func seconds(v string, limit time.Duration) (time.Duration, bool) {
	whole, frac, dotted := strings.Cut(v, ".")
	if !digits(whole) || dotted && !digits(frac) {
		return 0, false
	}
	whole = strings.TrimLeft(whole, "0")
	if len(whole) > 9 {
		return limit, true
	}
	n, _ := strconv.ParseInt("0"+whole, 10, 64) // at most nine digits
	if n >= int64(limit/time.Second)+1 {
		return limit, true
	}
	d := time.Duration(n) * time.Second
	if frac = strings.TrimRight(frac, "0"); frac != "" {
		ms, _ := strconv.ParseInt((frac + "000")[:3], 10, 64) // three digits
		if len(frac) > 3 {
			ms++
		}
		d += time.Duration(ms) * time.Millisecond
	}
	return min(d, limit), true
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// untilDate is the time until a date in one of the known forms.
func untilDate(v string, now time.Time, limit time.Duration) time.Duration {
	t, err := http.ParseTime(v)
	if err != nil {
		if t, err = time.Parse(time.RFC3339, v); err != nil {
			return 0
		}
	}
	return between(now, t, limit)
}

// between is the time from now to t, no less than 0 and no more than limit. Sub
// does not overflow: it stops at the longest duration.
func between(now, t time.Time, limit time.Duration) time.Duration {
	return min(max(t.Sub(now), 0), limit)
}
