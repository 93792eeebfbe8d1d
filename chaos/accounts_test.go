package chaos

import (
	"testing"

	"backstop/lead"
	"backstop/providers/sandbox"
	"backstop/testkit/fleet"
)

func TestRepeatedCallsAreThoseThatNoTrailHasAUseFor(t *testing.T) {
	const (
		fails = lead.ClassTransient
		ok    = lead.ClassOK
	)
	call := func(c lead.Class) lead.TrailEntry {
		return lead.TrailEntry{Provider: "clearbit", Class: c, Status: 200}
	}
	kept := lead.TrailEntry{Provider: "clearbit", Class: ok, Status: 200, Detail: "kept answer, 3s old"}
	skip := lead.TrailEntry{Provider: "clearbit", Class: lead.ClassSkip}
	other := lead.TrailEntry{Provider: "hunter", Class: ok, Status: 200}
	tests := []struct {
		name          string
		calls, people int
		trails        [][]lead.TrailEntry
		want          int
	}{
		{"one call for each lead", 2, 2, [][]lead.TrailEntry{{call(ok)}, {call(ok)}}, 0},
		{"a retry after a failure is none", 2, 1, [][]lead.TrailEntry{{call(fails), call(ok)}}, 0},
		{"a lost answer, asked for again", 2, 1, [][]lead.TrailEntry{{call(ok)}}, 1},
		{"a lost answer, not asked for again", 1, 1, [][]lead.TrailEntry{{other}}, 0},
		{"a lost answer that was kept", 1, 1, [][]lead.TrailEntry{{kept}}, 0},
		{"a call after the final answer", 2, 1, [][]lead.TrailEntry{{call(ok), call(ok)}}, 1},
		{"what is no call does not count", 1, 1, [][]lead.TrailEntry{{skip, call(ok), other}}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var outcomes []lead.Outcome
			for _, trail := range tt.trails {
				outcomes = append(outcomes, lead.Outcome{Trail: trail})
			}
			if got := repeated("clearbit", sandbox.Book{Calls: tt.calls, People: tt.people}, outcomes); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestDoubledOutcomesAreThoseThatDidNotRise(t *testing.T) {
	line := func(id string, s lead.Status, applied bool) fleet.SettledLine {
		return fleet.SettledLine{LeadID: id, Status: s, Applied: applied}
	}
	got := doubled([]fleet.SettledLine{
		line("one", lead.StatusEnriched, true), line("one", lead.StatusEnriched, false), // found it settled
		line("two", lead.StatusPartial, true), line("two", lead.StatusEnriched, true), // rose
		line("three", lead.StatusEnriched, true), line("three", lead.StatusEnriched, true),
	})
	if got != 1 {
		t.Errorf("got %d, want 1", got)
	}
}
