package monitor

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sony/gobreaker/v2"

	"backstop/lead"
	"backstop/ledger"
	"backstop/resilience"
	"backstop/testkit"
)

// scrape gives the counters and the histograms' counts, as Prometheus would read them.
func scrape(t *testing.T, m *Metrics) []string {
	t.Helper()
	a, _ := start(t, m)
	status, page := ask(t, http.MethodGet, a.URL()+"/metrics")
	if status != 200 {
		t.Fatalf("status %d", status)
	}
	lines := regexp.MustCompile(`(?m)^backstop_\S+(?:_total|_count)(?:\{.*\})? \S+$`).FindAllString(page, -1)
	slices.Sort(lines)
	return lines
}

func TestEventsAreCountedUnderTheNamesThatOperatorsQuery(t *testing.T) {
	m := NewMetrics()
	ago := lead.At(time.Now().Add(-3 * time.Second))
	for _, e := range []lead.TrailEntry{
		{Provider: "clearbit", Class: lead.ClassTransient, Millis: 30},
		{Provider: "clearbit", Class: lead.ClassOK, Millis: 20, Credits: 1},
		{Provider: "clearbit", Class: lead.ClassPartial, Millis: 20, Credits: 0.5},
		{Provider: "hunter", Class: lead.ClassSkip},
		{Provider: "directory", Class: lead.ClassFallback},
	} {
		m.Trail(e)
	}
	m.Retry("clearbit")
	m.Snooze()
	m.Snooze()
	m.Settled(ledger.Settlement{StartedAt: ago, Retries: 1}, ledger.Settled{Applied: true, Status: lead.StatusEnriched}, ago)
	m.Settled(ledger.Settlement{StartedAt: ago, Fallback: true}, ledger.Settled{Applied: true, Status: lead.StatusPartial}, ago)
	m.Settled(ledger.Settlement{StartedAt: ago}, ledger.Settled{Applied: false, Status: lead.StatusPartial}, ago) // a better outcome was there
	m.Rescued(3, "enrich")
	m.NotKept("hunter")
	m.Capped("hunter", "day")
	m.Panicked("clearbit")
	m.Transition(resilience.Transition{Provider: "clearbit", To: gobreaker.StateOpen, Own: true})
	m.Transition(resilience.Transition{Provider: "clearbit", To: gobreaker.StateOpen})

	want := []string{
		`backstop_answers_not_kept_total{provider="hunter"} 1`,
		`backstop_capped_calls_total{per="day",provider="hunter"} 1`,
		`backstop_circuit_transitions_total{own="false",provider="clearbit",to="open"} 1`,
		`backstop_circuit_transitions_total{own="true",provider="clearbit",to="open"} 1`,
		`backstop_credits_total{provider="clearbit"} 1.5`,
		`backstop_lead_accepted_duration_seconds_count 2`,
		`backstop_lead_duration_seconds_count 2`,
		`backstop_provider_answers_total{class="fallback",provider="directory"} 1`,
		`backstop_provider_answers_total{class="ok",provider="clearbit"} 1`,
		`backstop_provider_answers_total{class="partial",provider="clearbit"} 1`,
		`backstop_provider_answers_total{class="skip",provider="hunter"} 1`,
		`backstop_provider_answers_total{class="transient",provider="clearbit"} 1`,
		`backstop_provider_call_duration_seconds_count{provider="clearbit"} 3`,
		`backstop_provider_panics_total{provider="clearbit"} 1`,
		`backstop_rescued_leads_total{queue="enrich"} 3`,
		`backstop_retried_leads_total 1`,
		`backstop_retries_total{provider="clearbit"} 1`,
		`backstop_settled_leads_total{path="fallback",status="partial"} 1`,
		`backstop_settled_leads_total{path="retried",status="enriched"} 1`,
		`backstop_snoozes_total 2`,
	}
	if diff := cmp.Diff(want, scrape(t, m)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The four measures are queries over these names; doc.go has them.
func TestTheMeasuresInTheDocumentationNameMetricsThatThereAre(t *testing.T) {
	m := NewMetrics()
	m.Settled(ledger.Settlement{Retries: 1}, ledger.Settled{Applied: true, Status: lead.StatusEnriched}, lead.At(time.Now()))
	m.Settled(ledger.Settlement{Fallback: true}, ledger.Settled{Applied: true, Status: lead.StatusPartial}, lead.At(time.Now()))
	m.Transition(resilience.Transition{Provider: "clearbit", To: gobreaker.StateOpen, Own: true})
	page := strings.Join(scrape(t, m), "\n")
	doc, err := os.ReadFile("doc.go")
	testkit.NoError(t, err)
	names := regexp.MustCompile(`backstop_\w+`).FindAllString(string(doc), -1)
	if len(names) < 5 {
		t.Errorf("only %q are documented", names)
	}
	for _, name := range names {
		if !strings.Contains(page, name) {
			t.Errorf("%s is not exported", name)
		}
	}
}
