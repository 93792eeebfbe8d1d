package main

import (
	"errors"
	"iter"
	"strings"
	"testing"

	"backstop/lead"
	"backstop/ledger"
)

// outcomesWith yields an outcome before and one after an error.
func outcomesWith(err error) iter.Seq2[lead.Outcome, error] {
	return func(yield func(lead.Outcome, error) bool) {
		_ = yield(lead.Outcome{LeadID: "ld_before"}, nil) && yield(lead.Outcome{LeadID: "ld_bad"}, err) && yield(lead.Outcome{LeadID: "ld_after"}, nil)
	}
}

func TestAnExportGoesOnAfterADamagedOutcomeOnly(t *testing.T) {
	away := errors.New("the ledger is away")
	for _, test := range []struct {
		name         string
		err          error
		want, stderr string
		exported     []string
	}{
		{"a damaged one", &ledger.DamagedError{LeadID: "ld_bad", Err: errors.New("the profile is damaged")},
			"damaged outcomes that were not exported: 1", "ld_bad: the profile is damaged\n", []string{"ld_before", "ld_after"}},
		{"a ledger that is away", away, "the ledger is away", "", []string{"ld_before"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			w, err := newOutcomeWriter("jsonl", &stdout)
			if err != nil {
				t.Fatal(err)
			}
			err = writeOutcomes(&stderr, outcomesWith(test.err), w)
			if err == nil || err.Error() != test.want || stderr.String() != test.stderr {
				t.Errorf("got %v and %q, want %s and %q", err, stderr.String(), test.want, test.stderr)
			}
			lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
			if len(lines) != len(test.exported) {
				t.Fatalf("exported %q", lines)
			}
			for i, id := range test.exported {
				if !strings.Contains(lines[i], `"lead_id":"`+id+`"`) {
					t.Errorf("line %d is %s, want %s", i, lines[i], id)
				}
			}
		})
	}
}
