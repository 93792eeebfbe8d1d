package lead

import (
	"fmt"
	"time"
)

// TimeLayout is how times are written everywhere: RFC 3339, UTC, milliseconds.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Time is an instant to the millisecond, written in [TimeLayout]. The zero Time
// is written as null.
type Time struct{ time.Time }

// At returns t in UTC, cut to the millisecond.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// FromMillis is the instant that is ms milliseconds after the Unix epoch; 0 is
// the zero Time.
func FromMillis(ms int64) Time {
	if ms == 0 {
		return Time{}
	}
	return Time{time.UnixMilli(ms).UTC()}
}

// Millis is the inverse of [FromMillis].
func (t Time) Millis() int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// String writes t in [TimeLayout], the zero Time as "".
func (t Time) String() string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(TimeLayout)
}

// MarshalJSON writes t in [TimeLayout] or null.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + t.String() + `"`), nil
}

// UnmarshalJSON reads any RFC 3339 time, or null.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*t = Time{}
		return nil
	}
	p, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(b))
	if err != nil {
		return fmt.Errorf("decode time: %w", err)
	}
	*t = At(p)
	return nil
}
