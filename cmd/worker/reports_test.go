package main

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/ledger"
	"backstop/ops"
	"backstop/resilience"
	"backstop/testkit"
)

const noRedis = "BACKSTOP_REDIS__URL=redis://127.0.0.1:1/0"

func TestAuditExitsWith1WhenALeadIsUnaccountedFor(t *testing.T) {
	redis := "BACKSTOP_REDIS__URL=redis://" + miniredis.RunT(t).Addr()
	old, now := time.Now().Add(-time.Hour), time.Now()
	partial := ledger.Settlement{Status: lead.StatusPartial, Reason: "exhausted", StartedAt: lead.At(old)}
	for _, tt := range []struct {
		name  string
		redis string
		at    time.Time // of the acceptance
		leads []string
		ends  int // so many of them are settled
		code  int
		want  ops.AuditCounts
		says  string
	}{
		{"an empty ledger", noRedis, old, nil, 0, 0, ops.AuditCounts{}, "Every accepted lead has its outcome"},
		{"all are settled, without Redis", noRedis, old, []string{"a@x.example"}, 1, 0, ops.AuditCounts{Accepted: 1, Settled: ops.SettledCounts{Partial: 1}}, "Every accepted lead"},
		{"one was accepted a moment ago", redis, now, []string{"a@x.example"}, 0, 0, ops.AuditCounts{Accepted: 1, Open: 1}, "Every accepted lead"},
		{"two have no task", redis, old, []string{"a@x.example", "b@x.example", "c@x.example"}, 1, 1,
			ops.AuditCounts{Accepted: 3, Settled: ops.SettledCounts{Partial: 1}, Open: 2, Unaccounted: 2}, "unaccounted: ld_"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			setUp(t, tt.redis)
			fill(t, tt.at, func(l *ledger.Ledger) {
				for _, a := range accept(t, l, tt.leads...)[:tt.ends] {
					settle(t, l, a, partial)
				}
			})
			got := run(t.Context(), "audit", "--json")
			if diff := cmp.Diff(tt.want, decode[ops.AuditCounts](t, got.stdout)); got.code != tt.code || diff != "" {
				t.Errorf("exit %d, %s (-want +got)\n%s", got.code, got.stderr, diff)
			}
			text := run(t.Context(), "audit")
			if text.code != tt.code || !strings.Contains(text.stdout, tt.says) || text.stderr != "" {
				t.Errorf("exit %d, printed %s, said %q", text.code, text.stdout, text.stderr)
			}
			if n := strings.Count(text.stdout, "unaccounted: "); n != int(tt.want.Unaccounted) {
				t.Errorf("%d unaccounted leads are listed", n)
			}
			if strings.Contains(text.stdout, "x.example") {
				t.Errorf("an address is shown: %s", text.stdout)
			}
		})
	}
}

func TestReportPrintsTheMeasures(t *testing.T) {
	setUp(t, noRedis)
	if got := run(t.Context(), "report"); got.code != 0 || strings.Count(got.stdout, "none yet") != 2 {
		t.Errorf("of an empty ledger: exit %d, %s%s", got.code, got.stdout, got.stderr)
	}
	began := time.Now().Add(-48 * time.Hour)
	fill(t, began, func(l *ledger.Ledger) { accept(t, l, "a@x.example", "b@x.example", "c@x.example", "d@x.example") })
	fill(t, began.Add(4*time.Second), func(l *ledger.Ledger) {
		a := accept(t, l, "a@x.example", "b@x.example", "c@x.example")
		settle(t, l, a[0], ledger.Settlement{Status: lead.StatusEnriched, StartedAt: lead.At(began.Add(2 * time.Second)), Retries: 2})
		settle(t, l, a[1], ledger.Settlement{Status: lead.StatusPartial, StartedAt: lead.At(began.Add(2 * time.Second)), Retries: 3, Fallback: true})
		settle(t, l, a[2], ledger.Settlement{Status: lead.StatusEnriched, StartedAt: lead.At(began.Add(3 * time.Second))})
		testkit.NoError(t, l.RecordTransition(t.Context(), ledger.CircuitEvent{Provider: "clearbit", From: "closed", To: "open", At: began}))
	})

	half, third := 0.5, 1.0/3
	want := report{
		Leads: ops.AuditCounts{Accepted: 4, Settled: ops.SettledCounts{Enriched: 2, Partial: 1}, Open: 1},
		Measures: measures{
			Leads: 3, Retried: 2, RetrySuccessRate: &half, CircuitTrips: map[string]int64{"clearbit": 1}, FallbackShare: &third,
			LatencyP50: 2, LatencyP99: 2, WaitP50: 4, WaitP99: 4,
		},
	}
	got := run(t.Context(), "report", "--json")
	if diff := cmp.Diff(want, decode[report](t, got.stdout)); got.code != 0 || diff != "" {
		t.Errorf("exit %d (-want +got)\n%s", got.code, diff)
	}
	text := run(t.Context(), "report").stdout
	for _, part := range []string{"50.0 %", "33.3 %", "of 2 retried leads", "clearbit", "2.00 s / 2.00 s", "4.00 s / 4.00 s"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
	since := decode[report](t, run(t.Context(), "report", "--json", "--since", "24h").stdout)
	if since.Measures.Leads != 0 || len(since.Measures.CircuitTrips) != 0 || since.Leads.Accepted != 4 {
		t.Errorf("of the last day: %+v", since)
	}
}

func TestCircuitsAreShownAndSwitchedByHand(t *testing.T) {
	setUp(t, "BACKSTOP_REDIS__URL="+testkit.Redis(t), "BACKSTOP_PROVIDERS__HUNTER__LIMITS=[{rate: 5, per: 1s}]", "BACKSTOP_PROVIDERS__CLEARBIT__LIMITS=[]")
	state := func() map[string]string {
		t.Helper()
		got := run(t.Context(), "circuits", "--json")
		if got.code != 0 {
			t.Fatalf("exit %d: %s", got.code, got.stderr)
		}
		states := map[string]string{}
		for _, c := range decode[[]resilience.Circuit](t, got.stdout) {
			states[c.Provider] = c.State
			if c.Manual {
				states[c.Provider] += " by hand"
			}
		}
		return states
	}
	want := map[string]string{"clearbit": "closed", "hunter": "closed"}
	if diff := cmp.Diff(want, state()); diff != "" {
		t.Errorf("at first (-want +got)\n%s", diff)
	}
	if got := run(t.Context(), "circuits", "open", "hunter"); got.code != 0 || !strings.HasPrefix(got.stdout, "hunter: done") {
		t.Errorf("open: exit %d, %s%s", got.code, got.stdout, got.stderr)
	}
	want["hunter"] = "open by hand"
	if diff := cmp.Diff(want, state()); diff != "" {
		t.Errorf("after open (-want +got)\n%s", diff)
	}
	text := run(t.Context(), "circuits").stdout
	for _, part := range []string{"opened by hand", "5/s", "unlimited"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
	if got := run(t.Context(), "circuits", "close", "hunter"); got.code != 0 {
		t.Errorf("close: exit %d, %s", got.code, got.stderr)
	}
	want["hunter"] = "closed"
	if diff := cmp.Diff(want, state()); diff != "" {
		t.Errorf("after close (-want +got)\n%s", diff)
	}
}

func TestWhatHoldsAProviderBackIsSaidInWords(t *testing.T) {
	now := time.Now()
	for want, c := range map[string]resilience.Circuit{
		"":                                       {State: "closed", PausedUntil: now.Add(-time.Second), RetryAt: now.Add(-time.Hour)},
		"opened by hand":                         {State: "open", Manual: true, RetryAt: now.Add(time.Minute)},
		"open, a probe goes in 30s":              {State: "open", RetryAt: now.Add(30 * time.Second)},
		"paused for 1m0s":                        {State: "closed", PausedUntil: now.Add(time.Minute)},
		"suspended: quota_exhausted, for 1h0m0s": {State: "closed", SuspendedUntil: now.Add(time.Hour), SuspendedFor: "quota_exhausted"},
		"open, a probe goes in 1s; paused for 2s; suspended: auth, until the key changes or it is closed by hand": {
			State: "open", RetryAt: now.Add(time.Second), PausedUntil: now.Add(2 * time.Second), SuspendedUntil: resilience.Indefinitely, SuspendedFor: "auth"},
	} {
		if got := heldBack(c, now); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestCreditsShowWhatCapsLeave(t *testing.T) {
	spend := func(t *testing.T) {
		fill(t, time.Now(), func(l *ledger.Ledger) {
			a := accept(t, l, "a@x.example")
			settle(t, l, a[0], ledger.Settlement{Status: lead.StatusEnriched, StartedAt: lead.At(time.Now()), Trail: []lead.TrailEntry{
				{Attempt: 1, Provider: "hunter", Class: lead.ClassOK, Credits: 2.5, At: lead.At(time.Now())},
			}})
		})
	}
	cap10, counted := 10.0, 2.5
	for _, tt := range []struct {
		name string
		env  []string
		want []spent
		says string
	}{
		{"without a cap, and without Redis", []string{noRedis}, []spent{
			{"clearbit", "day", 0, nil, nil}, {"clearbit", "month", 0, nil, nil}, {"hunter", "day", 2.5, nil, nil}, {"hunter", "month", 2.5, nil, nil},
		}, "none"},
		{"with a cap", []string{"BACKSTOP_REDIS__URL=" + testkit.Redis(t), "BACKSTOP_PROVIDERS__HUNTER__CAPS__DAY=10"}, []spent{
			{"clearbit", "day", 0, nil, nil}, {"clearbit", "month", 0, nil, nil}, {"hunter", "day", 2.5, &cap10, &counted}, {"hunter", "month", 2.5, nil, nil},
		}, "7.5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			setUp(t, tt.env...)
			spend(t)
			got := run(t.Context(), "credits", "--json")
			if got.code != 0 {
				t.Fatalf("exit %d: %s", got.code, got.stderr)
			}
			if diff := cmp.Diff(tt.want, decode[[]spent](t, got.stdout)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if text := run(t.Context(), "credits").stdout; !strings.Contains(text, tt.says) {
				t.Errorf("%q is missing in\n%s", tt.says, text)
			}
		})
	}
}
