package e2e

import (
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"backstop/lead"
	"backstop/ops"
	"backstop/testkit"
)

const outageScript = `
latency: {min: 5ms, max: 10ms}
faults: [{to: 10s, status: 503}]
`

// quickEnv makes leads give up within three seconds.
var quickEnv = append([]string{"BACKSTOP_RETRY__MAX=1", "BACKSTOP_RETRY__BUDGET=2s"}, troubleEnv...)

// post sends a request to the sandbox and returns the status of its answer.
func (f *fleet) post(method, path string) int {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), method, f.sandbox+path, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	if err := resp.Body.Close(); err != nil {
		f.t.Fatal(err)
	}
	return resp.StatusCode
}

func TestLeadsOfAnOutageAreEnrichedByAReplay(t *testing.T) {
	const n = 12
	f := newFleet(t, "sqlite", outageScript, quickEnv...)
	f.run(0, enqueuePackage, "file", f.write("leads.csv", csvOf(n)))
	f.post(http.MethodPost, "/reset") // the outage begins now
	f.workers(2)
	if b := f.settled(time.Minute); b.Settled.Partial != n {
		t.Fatalf("after the outage: %+v", b)
	}
	if dead := len(f.archived()); dead != n {
		t.Errorf("%d leads stand in the archive, want %d", dead, n)
	}
	testkit.Eventually(t, time.Minute, "the outage is over", func() bool {
		return f.post(http.MethodGet, "/clearbit/v2/combined/find?email=probe@nowhere.example") != http.StatusServiceUnavailable
	})

	calls := f.books()["clearbit"].Calls
	preview := f.run(0, enqueuePackage, "replay", "--dry-run")
	if lines := strings.Split(strings.TrimSpace(preview), "\n"); len(lines) != 1+n || lines[0] != "matched 12: would replay 12, skip 0" || !strings.HasPrefix(lines[n], "ld_") {
		t.Errorf("the dry run says:\n%s", preview)
	}
	dry := decode[ops.Replay](t, f.run(0, enqueuePackage, "replay", "--dry-run", "--json", "--source", "another"))
	if dry != (ops.Replay{}) {
		t.Errorf("leads of another source: %+v", dry)
	}
	if got := f.books()["clearbit"].Calls; got != calls || f.audit().Settled.Partial != n {
		t.Errorf("a dry run changed something")
	}

	first := f.interruptedReplay()
	began := time.Now()
	rest := decode[ops.Replay](t, f.run(0, enqueuePackage, "replay", "--rate", "4", "--json"))
	if took, least := time.Since(began), time.Duration(rest.Matched-1)*time.Second/4; took < least {
		t.Errorf("%d leads at 4 a second took %s", rest.Matched, took)
	}
	if first.Matched != n || first.Replayed+rest.Replayed != n || rest.Matched != rest.Replayed+rest.Skipped {
		t.Errorf("two replays: %+v and %+v", first, rest)
	}
	testkit.Eventually(t, time.Minute, "all outcomes have risen", func() bool { return f.audit().Settled.Enriched == n })
	if again := decode[ops.Replay](t, f.run(0, enqueuePackage, "replay", "--json")); again != (ops.Replay{}) {
		t.Errorf("a second replay finds %+v", again)
	}
	f.checkReplayed(n)
}

// interruptedReplay sends a replay an interrupt after some leads.
func (f *fleet) interruptedReplay() ops.Replay {
	f.t.Helper()
	replayed := regexp.MustCompile(`"lead_id":"(ld_[a-z0-9]+)","event":"replayed"`)
	p := f.start(enqueuePackage, "replay", "--rate", "2", "--json")
	p.WaitLines(replayed, 3, time.Minute)
	p.Signal(syscall.SIGINT)
	if code := p.Wait(10 * time.Second); code != 1 {
		f.t.Errorf("an interrupted replay ends with %d", code)
	}
	if !strings.Contains(p.Stderr(), "running it again takes the rest") {
		f.t.Errorf("nothing is said of the rest: %s", p.Stderr())
	}
	sum := decode[ops.Replay](f.t, p.Stdout())
	if logged := len(replayed.FindAllString(p.Stderr(), -1)); sum.Replayed != logged || sum.Skipped != 0 {
		f.t.Errorf("it says %+v, and has replayed %d", sum, logged)
	}
	return sum
}

// checkReplayed holds outcomes and archive against a replay that succeeded.
func (f *fleet) checkReplayed(n int) {
	f.t.Helper()
	for id, o := range f.outcomes() {
		first, last := o.Trail[0], o.Trail[len(o.Trail)-1]
		if o.Status != lead.StatusEnriched || first.Class != lead.ClassTransient || last.Class != lead.ClassOK {
			f.t.Errorf("%s: %s, by way of %s", id, o.Status, lead.Summary(o.Trail))
		}
	}
	testkit.Eventually(f.t, 10*time.Second, "the archive is empty", func() bool { return len(f.archived()) == 0 })
	if b := f.audit(); b.Accepted != int64(n) || b.Settled.Total() != int64(n) || b.Open != 0 {
		f.t.Errorf("the books: %+v", b)
	}
}

func TestBadUseOfReplayIsRefused(t *testing.T) {
	f := newFleet(t, "sqlite", "{}")
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"suppressed leads", []string{"--status", "suppressed"}, "asked not to be processed"},
		{"an unknown status", []string{"--status", "done"}, "partial"},
		{"no status", []string{"--status", ""}, "status"},
		{"a rate below zero", []string{"--rate", "-1"}, "leads a second"},
		{"a rate that is no number", []string{"--rate", "NaN"}, "leads a second"},
		{"a bad time", []string{"--since", "yesterday"}, "24h"},
		{"an argument", []string{"ld_x"}, "ld_x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := f.start(enqueuePackage, append([]string{"replay"}, tt.args...)...)
			if code := p.Wait(time.Minute); code != 2 || !strings.Contains(p.Stderr(), tt.want) {
				t.Errorf("ended with %d: %s", code, p.Stderr())
			}
		})
	}
}
