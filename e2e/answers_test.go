package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"backstop/chain"
	"backstop/intake"
	"backstop/lead"
)

// spelling is the i-th person's address as the k-th source has it.
func spelling(i, k int) string {
	name := fmt.Sprintf("p%04d.lee", i)
	if i%4 == 0 {
		return []string{
			name + "@bücher.example", strings.ToUpper(name) + "@XN--BCHER-KVA.EXAMPLE", "<" + name + "@BÜCHER.example>",
		}[k]
	}
	if i%2 == 0 {
		return []string{
			name + "@firm%03d.example", strings.ToUpper(name) + "@Firm%03d.EXAMPLE", "mailto:" + name + "@FIRM%03d.example",
		}[k]
	}
	return []string{name + "@gmail.com", fmt.Sprintf("p%04d", i) + "lee+news@googlemail.com", fmt.Sprintf("P%04d", i) + ".L.e.e@GMail.com"}[k]
}

// The same people from three sources, each with spellings and IDs of its own, and
// at the same time: each of them is paid for once at each provider.
func TestAPersonInThreeSourcesIsPaidForOnce(t *testing.T) {
	const sources = 3
	n := 1000
	f := newFleet(t, "sqlite", `
latency: {min: 20ms, max: 120ms}
known: {clearbit: 0.7, hunter: 0.7}
`, append(troubleEnv, "BACKSTOP_SECRET=a secret of the whole fleet")...)
	f.workers(3)
	var files []string
	for k := range sources {
		var b strings.Builder
		b.WriteString("Record ID,Email\n")
		for i := range n {
			address := spelling(i, k)
			if strings.Contains(address, "%") {
				address = fmt.Sprintf(address, i%100)
			}
			fmt.Fprintf(&b, "%d-%04d,%s\n", k, i, address)
		}
		files = append(files, f.write(fmt.Sprintf("source%d.csv", k), b.String()))
	}
	sum := decode[intake.Summary](t, f.run(0, enqueuePackage, append([]string{"file", "--json"}, files...)...))
	if want := (intake.Summary{Read: int64(sources * n), Accepted: int64(sources * n)}); sum != want {
		t.Errorf("enqueue file: got %+v, want %+v", sum, want)
	}
	if b := f.settled(2 * time.Minute); b.Settled.Total() != int64(sources*n) || b.Unaccounted != 0 {
		t.Errorf("the books: %+v", b)
	}
	books := f.books()
	if c := books["clearbit"]; c.MostForOnePerson != 1 || c.Calls != n {
		t.Errorf("clearbit was called %d times about %d people, %d times about one", c.Calls, n, c.MostForOnePerson)
	}
	if h := books["hunter"]; h.MostForOnePerson != 1 || h.Calls == 0 || h.Calls == n { // only about those that Clearbit does not know
		t.Errorf("hunter was called %d times, %d times about one person", h.Calls, h.MostForOnePerson)
	}
	checkSources(t, f.outcomes(), n, sources)
	f.checkNothingInTheClear()
}

// checkSources holds the outcomes of one person's leads against each other.
func checkSources(t *testing.T, outcomes map[string]lead.Outcome, n, sources int) {
	t.Helper()
	calls, kept := 0, 0
	for i := range n {
		first := outcomes[fmt.Sprintf("0-%04d", i)]
		for k := range sources {
			o := outcomes[fmt.Sprintf("%d-%04d", k, i)]
			if o.Status == "" || o.Status != first.Status || o.Profile[lead.PersonTitle] != first.Profile[lead.PersonTitle] {
				t.Fatalf("person %d: %s from source %d, %s from the first", i, o.Status, k, first.Status)
			}
			for _, e := range o.Trail {
				switch {
				case e.Provider != "clearbit":
				case chain.IsCached(e):
					kept++
				default:
					calls++
				}
			}
		}
	}
	if calls != n || kept != (sources-1)*n {
		t.Errorf("the trails tell of %d calls and %d kept answers", calls, kept)
	}
}

// checkNothingInTheClear looks through the kept answers in Redis.
func (f *fleet) checkNothingInTheClear() {
	f.t.Helper()
	rdb := f.redis.Client()
	keys, err := rdb.Keys(f.t.Context(), "backstop:answers:*").Result()
	if err != nil || len(keys) == 0 {
		f.t.Fatalf("there are %d kept answers, %v", len(keys), err)
	}
	for _, key := range keys {
		if strings.HasSuffix(key, ":marks") { // of the secrets in use
			continue
		}
		value := ""
		if !strings.HasSuffix(key, ":all") {
			value = rdb.Get(f.t.Context(), key).Val()
		}
		if ttl := rdb.PTTL(f.t.Context(), key).Val(); ttl <= 0 || ttl > 24*time.Hour {
			f.t.Errorf("a key goes in %s", ttl)
		}
		if s := strings.ToLower(key + value); strings.Contains(s, "gmail") || strings.Contains(s, "example") || json.Valid([]byte(value)) {
			f.t.Fatalf("%s can be read", key)
		}
	}
}
