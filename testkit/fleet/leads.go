package fleet

import (
	"fmt"
	"strings"

	"backstop/lead"
	"backstop/providers/sandbox"
)

// CSV makes a file of n leads with one in so many of each kind of trouble, which
// is told by the address; see [KindOf] and [TroubleScript].
func CSV(n int) string { return CSVOf("R", n, KindOf) }

// CSVOf makes a file of n leads, the i-th with the source ID PREFIX-i and an
// address that begins with its kind.
func CSVOf(prefix string, n int, kind func(i int) string) string {
	var b strings.Builder
	b.WriteString("\ufeffRecord ID,Email,First Name,Last Name,Company name\r\n")
	for i := range n {
		email := fmt.Sprintf("%s.%s%05d@firm%03d.example", kind(i), strings.ToLower(strings.TrimPrefix(prefix, "R")), i, i%500)
		p := sandbox.Person(email) // an answer about somebody of another name would be refused
		fmt.Fprintf(&b, "%s-%05d,%s,%s,%s,Firm %d\r\n", prefix, i, email, p[lead.PersonGivenName], p[lead.PersonFamilyName], i%500)
	}
	return b.String()
}

// KindOf is the kind of trouble with the i-th lead of [CSV].
func KindOf(i int) string {
	switch {
	case i%50 == 7:
		return "down" // Clearbit answers 503, Hunter does not know it
	case i%100 == 13:
		return "hang" // Clearbit hangs, Hunter knows it
	case i%20 == 3:
		return "nobody" // neither knows it
	case i%40 == 5:
		return "blip" // Clearbit fails once
	case i%20 == 11:
		return "second" // only Hunter knows it
	default:
		return "fine"
	}
}

// TroubleScript makes the kinds of [KindOf] come true.
const TroubleScript = `
latency: {min: 5ms, max: 20ms}
` + TroubleFaults

// TroubleFaults is [TroubleScript] without the latency.
const TroubleFaults = `
faults:
  - {provider: clearbit, match: "down.*", status: 503}
  - {provider: hunter,   match: "down.*", status: 404}
  - {provider: clearbit, match: "hang.*", kind: hang}
  - {provider: clearbit, match: "nobody.*", status: 404}
  - {provider: hunter,   match: "nobody.*", status: 404}
  - {provider: clearbit, match: "blip.*", calls: 1, status: 500}
  - {provider: clearbit, match: "second.*", status: 404}
`

// TroubleEnv lets the retries of single leads be seen: no circuit opens, and no
// limit is felt.
func TroubleEnv() []string {
	return []string{
		"BACKSTOP_PROVIDERS__CLEARBIT__CIRCUIT__FAILURES=1000000",
		"BACKSTOP_PROVIDERS__HUNTER__CIRCUIT__FAILURES=1000000",
		"BACKSTOP_PROVIDERS__CLEARBIT__LIMITS=[]",
		"BACKSTOP_PROVIDERS__HUNTER__LIMITS=[]",
		"BACKSTOP_PROVIDERS__CLEARBIT__TIMEOUT=2s",
	}
}
