package resilience_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/resilience"
)

func TestAProgressIsTheSameAfterItWasStored(t *testing.T) {
	at := lead.At(time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC))
	want := resilience.NewProgress(lead.Lead{Name: "Ann Roe"}, 3, at.Time)
	want.Attempt, want.Retries, want.RetryOf, want.FailedAt, want.Armed, want.Due = 4, 2, "b", at, true, at
	want.Ended, want.Heard, want.Crashes = negative, true, 1
	want.Facts.Merge(lead.Profile{email: "x@acme.com", state: lead.EmailInvalid, title: "CTO"}, lead.Origin{Provider: "a", AsOf: at, Confidence: 0.5}, nil)
	want.Asked = map[string]*resilience.Asked{"a": {
		Answered: []string{"find"}, Over: lead.ClassPending, Failed: true, PendingSince: at, Pendings: 2, RateLimited: 1,
		Billed: []string{"find"}, Tickets: map[string]string{"verify": "t1"},
	}}
	b, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := resilience.LoadProgress(b, lead.Lead{Name: "another"}, 3, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.Facts.Invalid) == 0 {
		t.Error("it has no address that does not exist: the test shows less than it says")
	}
	again, err := resilience.LoadProgress(b, lead.Lead{Name: "Ann Roe"}, 4, at.Time)
	if diff := cmp.Diff(resilience.NewProgress(lead.Lead{Name: "Ann Roe"}, 4, at.Time), again); diff != "" || err != nil {
		t.Errorf("another generation begins with %v, %v", diff, err)
	}
	if _, err := resilience.LoadProgress([]byte("{"), lead.Lead{}, 1, time.Now()); err == nil {
		t.Error("half a progress is read")
	}
}

// Leads are on their way while a new version is put in place.
func TestAProgressOfTheVersionBeforeGoesOn(t *testing.T) {
	const stored = `{"generation":1,"started_at":"2026-01-02T03:04:05.678Z","attempt":1,"retry_of":"b","failed_at":null,"due":null,"heard":true,
		"facts":{"profile":{"company":{},"person":{"email":"ann@example.com","name":"Ann"}},
			"provenance":{"person.email":{"provider":"source","as_of":null},"person.name":{"provider":"a","as_of":"2025-01-02T03:04:05.678Z"}}},
		"asked":{"a":{"answered":["find"],"pending_since":null},"b":{"failed":true,"pending_since":null}}}`
	a, b := provider("a", knows), provider("b", says(lead.ClassPartial, company))
	c := newCourse(a, b)
	p, err := resilience.LoadProgress([]byte(stored), someLead, 1, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c.progress = p
	equal(t, "verdict", c.walk(t).Kind, full)
	equal(t, "calls", []int{len(a.made), len(b.made)}, []int{0, 1})
	equal(t, "retries", p.Retries, 1)
	equal(t, "profile", p.Facts.Profile, lead.Profile{email: "ann@example.com", name: "Ann", company: "known"})
}

// A worker that begins again, because the one before died without a word, uses the
// negative answers that the latter got in the same run.
func TestARunBeginsWhenItWasQueued(t *testing.T) {
	queued, started := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC)
	for _, tt := range []struct {
		name     string
		queuedAt time.Time
		want     time.Time
	}{
		{"known", queued, queued},
		{"not known", time.Time{}, started},
		{"noted only after the worker began", started.Add(time.Second), started},
	} {
		p := resilience.Progress{StartedAt: lead.At(started)}
		if !tt.queuedAt.IsZero() {
			p.QueuedAt = lead.At(tt.queuedAt)
		}
		if got := resilience.Begun(&p); !got.Equal(tt.want) {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}
