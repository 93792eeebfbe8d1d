package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"backstop/lead"
	"backstop/providers/sandbox"
	"backstop/testkit/fleet"
)

// A result is a row of the table.
type result struct {
	Name     string  `json:"fault"`
	Seed     uint64  `json:"seed"`
	Faults   int     `json:"faults"`
	Leads    int     `json:"leads"`    // accepted, by what enqueue said
	Outcomes int     `json:"outcomes"` // leads in the export
	Enriched int     `json:"enriched"`
	Partial  int     `json:"partial"`
	Missing  int     `json:"missing"`
	Doubled  int     `json:"doubled"`
	Repeated int     `json:"repeated_calls"`
	UnderWay int     `json:"calls_under_way"` // when the faults struck: the most that may be repeated
	Longest  float64 `json:"longest_s"`       // from acceptance to outcome
	After    float64 `json:"after_faults_s"`  // from the end of the last fault to the last outcome
	Late     bool    `json:"late"`            // leads were open after settleWithin
	Seconds  float64 `json:"took_s"`

	unaccounted int64
	wanted      int  // faults
	unspoiled   bool // every lead should be enriched
}

// result takes stock: of the export, the audit, the workers' logs and the sandbox.
func (r *run) result() result {
	r.t.Helper()
	res := result{Name: r.spec.Name, Seed: r.spec.Seed, Faults: r.faults, Leads: r.accepted, UnderWay: r.underWay, Late: r.late}
	res.wanted, res.unspoiled = r.spec.Faults, r.spec.Kind == nil
	outcomes := r.Outcomes()
	seen := map[string]bool{}
	var last time.Time
	for _, o := range outcomes {
		if seen[o.LeadID] {
			res.Doubled++
			continue
		}
		seen[o.LeadID] = true
		switch o.Status {
		case lead.StatusEnriched:
			res.Enriched++
		case lead.StatusPartial:
			res.Partial++
		}
		res.Longest = max(res.Longest, o.SettledAt.Sub(o.AcceptedAt.Time).Seconds())
		if o.SettledAt.After(last) {
			last = o.SettledAt.Time
		}
	}
	res.Outcomes = len(seen)
	res.Missing = r.accepted - res.Outcomes
	res.After = max(0, last.Sub(r.over).Seconds())
	res.Doubled += doubled(r.SettledLines())
	for name, book := range r.Books() {
		res.Repeated += repeated(name, book, outcomes)
	}
	if res.Missing == 0 {
		res.unaccounted = r.Audit().Unaccounted
	}
	return res
}

// doubled counts settlements that became a lead's outcome although an equal one had.
func doubled(lines []fleet.SettledLine) int {
	n := 0
	applied := map[string]map[lead.Status]bool{}
	for _, l := range lines {
		if !l.Applied {
			continue
		}
		if applied[l.LeadID] == nil {
			applied[l.LeadID] = map[lead.Status]bool{}
		}
		if applied[l.LeadID][l.Status] {
			n++
		}
		applied[l.LeadID][l.Status] = true
	}
	return n
}

// repeated counts the calls to a provider that bought nothing new. A call was of
// use if its answer is in the trail and no final answer was there before it; for a
// lead of which no answer is in the trail, one call had to be made.
func repeated(provider string, book sandbox.Book, outcomes []lead.Outcome) int {
	useful, leads := 0, 0
	for _, o := range outcomes {
		calls, final := 0, false
		for _, e := range o.Trail {
			if e.Provider != provider || !isCall(e) || final {
				continue
			}
			calls++
			final = e.Class.HasData() || e.Class.IsNegative()
		}
		useful += calls
		if calls > 0 {
			leads++
		}
	}
	return book.Calls - useful - max(0, book.People-leads)
}

// isCall tells the trail's calls from its remarks and from answers that were kept.
func isCall(e lead.TrailEntry) bool {
	return !strings.HasPrefix(e.Detail, "kept answer, ") && slices.Contains(lead.Classes, e.Class) && (e.Class != lead.ClassInvalidInput || e.Status != 0)
}

// check holds a result against what is required.
func (res result) check(t *testing.T) {
	t.Helper()
	if res.Missing != 0 || res.unaccounted != 0 {
		t.Errorf("%d of %d leads have no outcome, %d are unaccounted for", res.Missing, res.Leads, res.unaccounted)
	}
	if res.Doubled != 0 {
		t.Errorf("%d outcomes are doubled", res.Doubled)
	}
	if res.Repeated > res.UnderWay {
		t.Errorf("%d paid calls were repeated; %d were under way when the faults struck", res.Repeated, res.UnderWay)
	}
	if res.Late {
		t.Errorf("the last lead was settled %.0f s after the last fault, not within %s", res.After, settleWithin)
	}
	if res.Faults < res.wanted {
		t.Errorf("%d faults were injected, not %d", res.Faults, res.wanted)
	}
	if res.unspoiled && res.Enriched != res.Leads {
		t.Errorf("the APIs answered every call, yet %d of %d leads are not enriched", res.Leads-res.Enriched, res.Leads)
	}
}

// results are those of this run so far.
var results struct {
	sync.Mutex
	rows []result
}

// record notes a row and, where CHAOS_OUT says so, writes the table anew: what is
// known so far is not lost with the test binary.
func record(t *testing.T, res result) {
	t.Helper()
	results.Lock()
	defer results.Unlock()
	results.rows = append(results.rows, res)
	slices.SortFunc(results.rows, func(a, b result) int { return int(a.Seed&0xffff) - int(b.Seed&0xffff) })
	t.Logf("\n%s%s", tableHead, res.row())
	dir := os.Getenv("CHAOS_OUT")
	if dir == "" {
		return
	}
	b, err := json.MarshalIndent(results.rows, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	md := tableHead
	for _, row := range results.rows {
		md += row.row()
	}
	for name, content := range map[string]string{"chaos.json": string(b) + "\n", "chaos.md": md} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const tableHead = "| fault | faults | leads in | outcomes out | enriched | missing | doubled | paid calls repeated (under way) | longest time to outcome | last outcome after the faults |\n" +
	"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"

func (res result) row() string {
	cells := []string{res.Name, fmt.Sprint(res.Faults), fmt.Sprint(res.Leads), fmt.Sprint(res.Outcomes), fmt.Sprint(res.Enriched),
		fmt.Sprint(res.Missing), fmt.Sprint(res.Doubled), fmt.Sprintf("%d (%d)", res.Repeated, res.UnderWay),
		fmt.Sprintf("%.1f s", res.Longest), fmt.Sprintf("%.1f s", res.After)}
	return "| " + strings.Join(cells, " | ") + " |\n"
}
