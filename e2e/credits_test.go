package e2e

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"backstop/lead"
)

// A runaway job stops spending at the cap, whichever replica it runs on and
// whatever Redis forgets, and every lead still comes to its outcome.
func TestACapOnCreditsHoldsForTheFleet(t *testing.T) {
	const n, capped = 300, 50
	f := newFleet(t, "sqlite", `
latency: {min: 5ms, max: 30ms}
known: {clearbit: 0.8}
`, append(troubleEnv, fmt.Sprintf("BACKSTOP_PROVIDERS__CLEARBIT__CAPS={day: %d, month: 1000}", capped),
		"BACKSTOP_PROVIDERS__HUNTER__CREDITS=0.2")...)
	workers := f.workers(3)
	var b strings.Builder
	b.WriteString("Record ID,Email\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,p%04d.lee@firm%03d.example\n", i, i, i)
	}
	f.run(0, enqueuePackage, "file", f.write("leads.csv", b.String()))
	if books := f.settled(2 * time.Minute); books.Settled.Total() != n || books.Unaccounted != 0 {
		t.Errorf("the books: %+v", books)
	}
	books := f.books()
	if c := books["clearbit"]; c.Billed != capped {
		t.Errorf("clearbit charges for %d calls, the cap is %d", c.Billed, capped)
	}
	spent := map[string]float64{}
	refused := 0
	for _, o := range f.outcomes() {
		for name, credits := range o.Credits {
			spent[name] += credits
		}
		for _, e := range o.Trail {
			if e.Provider == "clearbit" && e.Class == lead.ClassSkip && strings.Contains(e.Detail, "cap of 50 credits a day") {
				refused++
			}
		}
	}
	if want := map[string]float64{"clearbit": capped, "hunter": 0.2 * float64(books["hunter"].Billed)}; math.Abs(spent["hunter"]-want["hunter"]) > 1e-6 || spent["clearbit"] != want["clearbit"] {
		t.Errorf("the outcomes cost %v, the providers charge for %v", spent, want)
	}
	if refused != n-capped {
		t.Errorf("%d leads were sent on by the cap, want %d", refused, n-capped)
	}
	f.checkSpending(capped, math.Round(spent["hunter"]*1e6)/1e6)

	// A Redis that forgot everything is no new purse.
	if err := f.redis.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	f.run(0, enqueuePackage, "file", f.write("more.csv", strings.ReplaceAll(b.String(), "@firm", "@other")))
	f.settled(2 * time.Minute)
	if c := f.books()["clearbit"]; c.Billed != capped {
		t.Errorf("after Redis was emptied clearbit charges for %d calls", c.Billed)
	}
	for _, w := range workers {
		stopped(t, w)
	}
}

// checkSpending looks at worker credits.
func (f *fleet) checkSpending(clearbit, hunter float64) {
	f.t.Helper()
	type row struct {
		Provider, Per string
		Spent         float64
		Cap, Counted  *float64
	}
	for _, r := range decode[[]row](f.t, f.run(0, workerPackage, "credits", "--json")) {
		want, limit := clearbit, map[string]float64{"day": 50, "month": 1000}[r.Per]
		if r.Provider == "hunter" {
			want, limit = hunter, 0
		}
		switch {
		case math.Abs(r.Spent-want) > 1e-6:
			f.t.Errorf("%s this %s: %g credits, want %g", r.Provider, r.Per, r.Spent, want)
		case (r.Cap != nil) != (limit != 0):
			f.t.Errorf("%s this %s: cap %v", r.Provider, r.Per, r.Cap)
		case limit != 0 && (*r.Cap != limit || *r.Counted != want):
			f.t.Errorf("%s this %s: %g of %g", r.Provider, r.Per, *r.Counted, *r.Cap)
		}
	}
}
