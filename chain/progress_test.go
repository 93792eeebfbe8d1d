package chain_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backstop/chain"
	"backstop/lead"
)

func TestAProgressIsTheSameAfterItWasStored(t *testing.T) {
	at := lead.At(time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC))
	want := chain.NewProgress(lead.Lead{Name: "Ann Roe"}, 3, at.Time)
	want.Attempt, want.Retries, want.RetryOf, want.FailedAt, want.Armed, want.Due = 4, 2, "b", at, true, at
	want.Ended, want.Heard, want.Crashes = negative, true, 1
	want.Facts.Merge(lead.Profile{email: "x@acme.com", state: lead.EmailInvalid, title: "CTO"}, lead.Origin{Provider: "a", AsOf: at, Confidence: 0.5}, nil)
	want.Asked = map[string]*chain.Asked{"a": {
		Answered: []string{"find"}, Over: lead.ClassPending, Failed: true, PendingSince: at, Pendings: 2, RateLimited: 1,
		Billed: []string{"find"}, Tickets: map[string]string{"verify": "t1"},
	}}
	b, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := chain.LoadProgress(b, lead.Lead{Name: "another"}, 3, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.Facts.Invalid) == 0 {
		t.Error("it has no address that does not exist: the test shows less than it says")
	}
	again, err := chain.LoadProgress(b, lead.Lead{Name: "Ann Roe"}, 4, at.Time)
	if diff := cmp.Diff(chain.NewProgress(lead.Lead{Name: "Ann Roe"}, 4, at.Time), again); diff != "" || err != nil {
		t.Errorf("another generation begins with %v, %v", diff, err)
	}
	if _, err := chain.LoadProgress([]byte("{"), lead.Lead{}, 1, time.Now()); err == nil {
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
	p, err := chain.LoadProgress([]byte(stored), someLead, 1, time.Now())
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
		p := chain.Progress{StartedAt: lead.At(started)}
		if !tt.queuedAt.IsZero() {
			p.QueuedAt = lead.At(tt.queuedAt)
		}
		if got := chain.Begun(&p); !got.Equal(tt.want) {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

func TestStoredProgress(t *testing.T) {
	now := time.Now()
	load := func(s string, generation int) *chain.Progress {
		t.Helper()
		p, err := chain.LoadProgress([]byte(s), someLead, generation, now)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, p := range map[string]*chain.Progress{
		"none":                      load("", 2),
		"null":                      load("null", 2),
		"one of an earlier run":     load(`{"generation":1,"attempt":7,"retries":3,"ended":"exhausted"}`, 2),
		"one that a later run left": load(`{"generation":3,"attempt":7}`, 2),
	} {
		if p.Generation != 2 || p.Attempt != 0 || p.Retries != 0 || p.Ended != "" || p.Facts.Profile[lead.PersonEmail] != someLead.Email {
			t.Errorf("%s: %+v, want a new one that knows what the source knows", name, p)
		}
	}
	if p := load(`{"generation":2,"attempt":7}`, 2); p.Attempt != 7 {
		t.Errorf("its own: %+v", p)
	}
	for _, damaged := range []string{"{", `{"generation":"2"}`, `[]`, `{"generation":2,"failed_at":"soon"}`} {
		if _, err := chain.LoadProgress([]byte(damaged), someLead, 2, now); err == nil {
			t.Errorf("%s is loaded", damaged)
		}
	}
}
