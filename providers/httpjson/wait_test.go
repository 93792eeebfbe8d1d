package httpjson

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const testCap = 15 * time.Minute

func TestRetryAfter(t *testing.T) {
	for v, want := range map[string]time.Duration{
		"":                               0,
		"0":                              0,
		"5":                              5 * time.Second,
		" 5 ":                            5 * time.Second,
		"007":                            7 * time.Second,
		"1.5":                            1500 * time.Millisecond,
		"0.0001":                         time.Millisecond,
		"899.9999":                       testCap,
		"3600":                           testCap,
		"9223372037":                     testCap, // overflows a duration
		"99999999999999999999999999999":  testCap,
		"-5":                             0,
		"+5":                             0,
		"1e3":                            0,
		"1.":                             0,
		".5":                             0,
		"1.2.3":                          0,
		"0x10":                           0,
		"soon":                           0,
		"NaN":                            0,
		"Infinity":                       0,
		"Sun, 01 Mar 2026 12:00:30 GMT":  30 * time.Second,
		"Sunday, 01-Mar-26 12:00:30 GMT": 30 * time.Second, // RFC 850
		"Sun Mar  1 12:00:30 2026":       30 * time.Second, // asctime
		"2026-03-01T12:00:30Z":           30 * time.Second,
		"Sun, 01 Mar 2026 11:00:00 GMT":  0,       // past
		"Fri, 31 Dec 9999 23:59:59 GMT":  testCap, // far
		"Mon, 01 Jan 0001 00:00:00 GMT":  0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {v}}, noon, testCap); got != want {
			t.Errorf("Retry-After %q is %s, want %s", v, got, want)
		}
	}
}

func TestRateLimitReset(t *testing.T) {
	for v, want := range map[string]time.Duration{
		"30":                        30 * time.Second,
		"2.5":                       2500 * time.Millisecond,
		"1772366430":                30 * time.Second, // since the epoch
		"1772366430.7":              30 * time.Second,
		"1772366430000":             30 * time.Second, // in milliseconds
		"1772366000":                0,                // past
		"86400":                     testCap,
		"9223372037":                testCap, // the year 2262
		"9999999999999999":          testCap,
		"99999999999999999999":      testCap,
		"-30":                       0,
		"2026-03-01T12:00:30Z":      30 * time.Second,
		"2026-03-01T13:00:30+01:00": 30 * time.Second,
		"2026-03-01T12:00:30.250Z":  30250 * time.Millisecond,
		"tomorrow":                  0,
		"":                          0,
	} {
		if got := rateLimitReset(v, noon, testCap); got != want {
			t.Errorf("X-RateLimit-Reset %q is %s, want %s", v, got, want)
		}
	}
}

func TestTheLongestOfAllWaitsCounts(t *testing.T) {
	h := http.Header{"Retry-After": {"3", "junk", "9"}, "X-Ratelimit-Reset": {"1772366420", "4"}}
	if got := wait(h, noon, testCap); got != 20*time.Second {
		t.Errorf("wait is %s, want 20s", got)
	}
	if got := wait(http.Header{"X-Rate-Limit-Reset": {"12"}}, noon, testCap); got != 12*time.Second {
		t.Errorf("wait by FullContact's header is %s, want 12s", got)
	}
	if got := wait(http.Header{}, noon, testCap); got != 0 {
		t.Errorf("wait without a header is %s", got)
	}
}

func TestAQuotaIsRenewedWithin40Days(t *testing.T) {
	for v, want := range map[string]time.Time{
		"2592000":    noon.Add(30 * 24 * time.Hour),
		"4102444800": noon.Add(MaxQuota),
		"-1":         {},
	} {
		if got := until(http.Header{"X-Ratelimit-Reset": {v}}, noon); !got.Equal(want) {
			t.Errorf("until after %q is %s, want %s", v, got, want)
		}
	}
}

func FuzzWait(f *testing.F) {
	for _, v := range []string{"5", "1.5", "9223372037", "-1", "Sun, 01 Mar 2026 12:00:30 GMT", "1772366430", "2026-03-01T12:00:30Z", strings.Repeat("9", 400)} {
		f.Add(v, v, int64(testCap), noon.Unix())
	}
	f.Fuzz(func(t *testing.T, after, reset string, limit, now int64) {
		limit = max(limit&(1<<62-1), 1)
		h := http.Header{"Retry-After": {after}, "X-Ratelimit-Reset": {reset}}
		if d := wait(h, time.Unix(now%(1<<38), 0), time.Duration(limit)); d < 0 || d > time.Duration(limit) {
			t.Errorf("wait is %s with the cap %s", d, time.Duration(limit))
		}
	})
}
