package ledgertest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
)

// A Change runs a statement past the ledger.
type Change func(t *testing.T, l *ledger.Ledger, statement string)

// aboutIt fails the test unless err says that the lead is damaged, and quotes nothing.
func aboutIt(t *testing.T, err error, leadID string) {
	t.Helper()
	damaged, ok := errors.AsType[*ledger.DamagedError](err)
	if !ok || damaged.LeadID != leadID || strings.Contains(err.Error(), "secret") || ledger.IsAway(err) {
		t.Errorf("got %v, want that %s is damaged", err, leadID)
	}
}

// readsBesideDamagedLeads damages one lead among others, which are read all the same.
func readsBesideDamagedLeads(t *testing.T, open Opener, change Change) {
	for _, damage := range []string{`{"name":"secret`, `[]`, `{"name":{"secret":1}}`} {
		l, ctx := open(t, ledger.Options{}), t.Context()
		var ids []string
		for _, a := range accept(t, l, 0, 5) {
			ids = append(ids, a.LeadID)
		}
		bad := ids[2]
		change(t, l, `UPDATE leads SET lead = '`+damage+`' WHERE lead_id = '`+bad+`'`)
		slices.Sort(ids)
		byAddress, byAddressErr := l.Find(ctx, makeLead(2).Email)
		ofPerson, ofPersonErr := l.LeadsOf(ctx, makeLead(2).Email)
		live, liveErr := l.LivePage(ctx, "", time.Time{}, 9)
		unqueued, unqueuedErr := l.UnqueuedPage(ctx, "", time.Time{}, 9)
		records, recordsErr := l.Records(ctx, ids)
		for _, read := range []struct {
			name string
			got  []ledger.Record
			err  error
			want []string
		}{
			{"LivePage", live, liveErr, ids}, {"UnqueuedPage", unqueued, unqueuedErr, ids}, {"Records", records, recordsErr, ids},
			{"Find", byAddress, byAddressErr, []string{bad}}, {"LeadsOf", ofPerson, ofPersonErr, []string{bad}},
		} {
			var got []string
			for _, r := range read.got {
				got = append(got, r.LeadID)
				switch {
				case r.LeadID == bad:
					aboutIt(t, r.Damaged, bad)
					if r.Lead != (lead.Lead{}) || r.Generation != 1 || !r.Live() || r.RequestID == "" || r.AcceptedAt.IsZero() {
						t.Errorf("%s: the rest of the damaged lead is %+v", read.name, r)
					}
				case r.Damaged != nil || r.Lead.Email == "":
					t.Errorf("%s: another lead is %+v", read.name, r)
				}
			}
			if read.err != nil || !cmp.Equal(got, read.want) {
				t.Errorf("%s: got %v, %v, want %v", read.name, got, read.err, read.want)
			}
		}
		_, err := l.Get(ctx, bad)
		aboutIt(t, err, bad)
		o, err := l.Outcome(ctx, bad)
		aboutIt(t, err, bad)
		if o.LeadID != bad || o.AcceptedAt.IsZero() {
			t.Errorf("what is known of it is %+v", o)
		}
		for i, a := range accept(t, l, 0, 6) { // the damaged one comes as it is now
			if a.Lead != makeLead(i) || a.Duplicate != (i < 5) {
				t.Errorf("lead %d comes again: %+v", i, a)
			}
		}
		if done := settle(t, l, settlement(bad, lead.StatusPartial, 1, 1)); !done.Applied {
			t.Errorf("settling it: %+v", done)
		}
	}
}

// exportsBesideDamagedOutcomes damages one column after the other of one outcome.
func exportsBesideDamagedOutcomes(t *testing.T, open Opener, change Change) {
	l := open(t, ledger.Options{})
	accepted := accept(t, l, 0, 5)
	for _, a := range accepted {
		s := settlement(a.LeadID, lead.StatusPartial, 2, 1)
		s.Trail = []lead.TrailEntry{{Attempt: 1, Provider: "clearbit", Class: lead.ClassOK, Conflicts: map[lead.Field]string{lead.PersonName: "secret"}}}
		settle(t, l, s)
	}
	bad := accepted[3].LeadID
	for _, column := range []string{"trail.conflicts", "outcomes.profile", "outcomes.missing", "outcomes.provenance", "leads.credits", "leads.lead"} {
		t.Run(column, func(t *testing.T) {
			table, name, _ := strings.Cut(column, ".")
			change(t, l, `UPDATE `+table+` SET `+name+` = '{"secret' WHERE lead_id = '`+bad+`'`)
			var read []string
			for o, err := range l.Outcomes(t.Context(), ledger.Filter{}) {
				read = append(read, o.LeadID)
				if o.LeadID == bad {
					aboutIt(t, err, bad)
				} else if err != nil {
					t.Errorf("another outcome: %v", err)
				}
				if o.Status != lead.StatusPartial || len(o.Trail) != 1 {
					t.Errorf("what can be read is %+v", o)
				}
			}
			if slices.Sort(read); len(slices.Compact(read)) != len(accepted) {
				t.Errorf("read %v", read)
			}
			_, err := l.Outcome(t.Context(), bad)
			aboutIt(t, err, bad)
		})
	}
}

// settlesWithDamagedCredits damages what a lead has cost so far.
func settlesWithDamagedCredits(t *testing.T, open Opener, change Change) {
	c := newClock()
	l := open(t, ledger.Options{Now: c.now})
	for i, damage := range []string{`{"hunter":`, `null`, `[]`} {
		id := accept(t, l, i, 1)[0].LeadID
		change(t, l, `UPDATE leads SET credits = '`+damage+`' WHERE lead_id = '`+id+`'`)
		s := settlement(id, lead.StatusPartial, 1, 1)
		s.Trail = []lead.TrailEntry{paid("hunter", 2, c.now())}
		if done := settle(t, l, s); !done.Applied {
			t.Errorf("%s: %+v", damage, done)
		}
		if got := outcome(t, l, id).Credits; !cmp.Equal(got, map[string]float64{"hunter": 2}) {
			t.Errorf("%s: the sum is %v, want it to begin anew", damage, got)
		}
	}
	if got := spent(t, l, "hunter", c.now()); got != 6 {
		t.Errorf("spent %v, want 6", got)
	}
}
