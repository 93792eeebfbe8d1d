package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"backstop/intake"
	"backstop/lead"
	"backstop/queue"
)

// leads is how many a test hands on.
func leads(t *testing.T) int {
	if testing.Short() {
		return 300
	}
	t.Helper()
	return 2000
}

func TestEveryLeadOfAFileComesToItsOutcome(t *testing.T) {
	for _, ledger := range []string{"sqlite", "postgres"} {
		t.Run("on "+ledger, func(t *testing.T) { mainJob(t, ledger) })
	}
}

// longBudget is twice the usual one. With that, the schedule of 1, 2 and 4 s leaves 3 s
// for all delays together, which a busy machine uses up: the lead then makes one
// retry less, as it should, but not the test's. That the calls end within the budget
// is shown without a real clock in package resilience.
const longBudget = 20 * time.Second

func mainJob(t *testing.T, ledger string) {
	n := leads(t)
	f := newFleet(t, ledger, troubleScript, append(troubleEnv, "BACKSTOP_RETRY__BUDGET="+longBudget.String())...)
	f.workers(3)
	file := f.write("leads.csv", csvOf(n))

	sum := decode[intake.Summary](t, f.run(0, enqueuePackage, "file", file, "--json"))
	if want := (intake.Summary{Read: int64(n), Accepted: int64(n)}); sum != want {
		t.Errorf("enqueue file: got %+v, want %+v", sum, want)
	}
	again := decode[intake.Summary](t, f.run(0, enqueuePackage, "file", file, "--json"))
	if want := (intake.Summary{Read: int64(n), Duplicate: int64(n)}); again != want {
		t.Errorf("a second run: got %+v, want %+v", again, want)
	}

	b := f.settled(2 * time.Minute)
	if b.Accepted != int64(n) || b.Settled.Total() != int64(n) || b.Unaccounted != 0 {
		t.Errorf("the books do not add up: %+v", b)
	}
	outcomes := f.outcomes()
	if len(outcomes) != n {
		t.Errorf("%d outcomes for %d leads", len(outcomes), n)
	}
	archived := f.archived()
	for i := range n {
		id := fmt.Sprintf("R-%05d", i)
		checkOutcome(t, kindOf(i), outcomes[id], archived)
		if t.Failed() {
			t.Fatalf("lead %d (%s): %+v", i, kindOf(i), outcomes[id])
		}
	}
	if calls := f.books()["clearbit"]; calls.MostForOnePerson > 4 {
		t.Errorf("one person was asked about %d times", calls.MostForOnePerson)
	}
	f.checkReport()
}

// checkOutcome holds one outcome against what the kind of its lead should come to.
func checkOutcome(t *testing.T, kind string, o lead.Outcome, archived map[string]string) {
	t.Helper()
	errText, inArchive := archived[o.LeadID]
	if len(o.Profile) == 0 || o.Profile[lead.PersonEmail] == "" || o.Profile[lead.CompanyName] == "" {
		t.Errorf("the profile lacks what the file gave")
	}
	calls := func(provider string) (entries []lead.TrailEntry) {
		for _, e := range o.Trail {
			if e.Provider == provider {
				entries = append(entries, e)
			}
		}
		return entries
	}
	clearbit, hunter := calls("clearbit"), calls("hunter")
	want := lead.StatusEnriched
	switch kind {
	case "down":
		want = lead.StatusPartial
		checkSchedule(t, clearbit)
		if !inArchive || !strings.Contains(errText, "clearbit: transient 503 x4; hunter: no_data 404") {
			t.Errorf("it stands in the archive: %v, with the error %q", inArchive, errText)
		}
		if !strings.HasPrefix(o.Reason, "exhausted after 3 retries: clearbit: transient 503 x4") {
			t.Errorf("the reason is %q", o.Reason)
		}
	case "hang":
		if len(hunter) == 0 || hunter[len(hunter)-1].Class != lead.ClassOK {
			t.Errorf("Hunter did not get its turn")
		}
	case "nobody":
		want = lead.StatusPartial
		if inArchive {
			t.Errorf("it stands in the archive although nothing failed")
		}
		if len(o.Missing) == 0 || !strings.HasPrefix(o.Reason, "no provider knows more") {
			t.Errorf("missing %v, reason %q", o.Missing, o.Reason)
		}
	case "blip":
		if len(clearbit) != 2 || clearbit[1].At.Sub(end(clearbit[0])) < time.Second {
			t.Errorf("it was not retried after a second")
		}
	case "second":
		if o.Provenance[lead.PersonTitle].Provider != "hunter" {
			t.Errorf("the title comes from %q", o.Provenance[lead.PersonTitle].Provider)
		}
	}
	if o.Status != want {
		t.Errorf("the status is %s, not %s", o.Status, want)
	}
	if kind != "down" && inArchive {
		t.Errorf("it stands in the archive")
	}
	if o.SettledAt.Sub(o.StartedAt.Time) > longBudget+5*time.Second {
		t.Errorf("it took %s", o.SettledAt.Sub(o.StartedAt.Time))
	}
}

// checkSchedule makes sure that the gaps between a failed call's end and the next
// call are 1, 2 and 4 s at least, and that all ends within the budget.
func checkSchedule(t *testing.T, calls []lead.TrailEntry) {
	t.Helper()
	if len(calls) != 4 {
		t.Errorf("%d calls instead of 4", len(calls))
		return
	}
	for i, least := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		if gap := calls[i+1].At.Sub(end(calls[i])); gap < least {
			t.Errorf("retry %d came after %s", i+1, gap)
		}
	}
	if took := end(calls[3]).Sub(calls[0].At.Time); took > longBudget {
		t.Errorf("the calls took %s", took)
	}
}

// end is when a call ended, rounded down as the trail is.
func end(e lead.TrailEntry) time.Time { return e.At.Add(time.Duration(e.Millis) * time.Millisecond) }

// archived is the dead-letter queue: the error text of each lead.
func (f *fleet) archived() map[string]string {
	f.t.Helper()
	inspector := asynq.NewInspector(asynq.RedisClientOpt{Addr: f.redis.Addr()})
	defer inspector.Close()
	texts := map[string]string{}
	for page := 1; ; page++ {
		list, err := inspector.ListArchivedTasks(queue.QueueEnrich, asynq.PageSize(500), asynq.Page(page))
		if err != nil {
			f.t.Fatal(err)
		}
		for _, info := range list {
			p, err := queue.DecodePayload(info.Payload)
			if err != nil {
				f.t.Fatal(err)
			}
			texts[p.LeadID] = info.LastErr
		}
		if len(list) < 500 {
			return texts
		}
	}
}

// checkReport makes sure that the report knows of the retries and the fallbacks.
func (f *fleet) checkReport() {
	f.t.Helper()
	out := f.run(0, workerPackage, "report")
	for _, part := range []string{"retry success rate", "circuit trips", "fallback share", "latency p50 / p99"} {
		if !strings.Contains(out, part) {
			f.t.Errorf("the report lacks %q:\n%s", part, out)
		}
	}
}

func TestSIGTERMInTheMiddleLosesNothingAndRepeatsNothing(t *testing.T) {
	const n = 800
	f := newFleet(t, "sqlite", "latency: {min: 400ms, max: 600ms}\n", troubleEnv...)
	workers := f.workers(2)
	file := f.write("leads.csv", csvOf(n))
	f.run(0, enqueuePackage, "file", file)
	settledLine := regexp.MustCompile(`"event":"settled"`)
	workers[0].WaitLines(settledLine, 20, time.Minute)
	stopped(t, workers[0])
	if got := f.audit(); got.Open == 0 || got.Unaccounted != 0 {
		t.Fatalf("the test wants to stop a worker in the middle: %+v", got)
	}
	workers[1].WaitLines(settledLine, 100, time.Minute)
	stopped(t, workers[1])

	drain := f.start(workerPackage, "run", "--drain")
	if code := drain.Wait(2 * time.Minute); code != 0 {
		t.Errorf("worker run --drain ended with %d", code)
	}
	b := f.audit()
	if b.Open != 0 || b.Settled.Enriched != int64(n) || b.Unaccounted != 0 {
		t.Errorf("after the drain: %+v", b)
	}
	if most := f.books()["clearbit"].MostForOnePerson; most != 1 {
		t.Errorf("somebody was asked about %d times", most)
	}
}

func TestABadRowIsRejectedWhileItsNeighboursGoOn(t *testing.T) {
	f := newFleet(t, "sqlite", "{}", troubleEnv...)
	huge := strings.Repeat("x", 1<<20)
	file := f.write("mixed.csv", strings.Join([]string{
		"Id,Email,Name,Company",
		"1,ann.lee@one.example,Ann,One",
		"2,,,Nobody Inc",
		`3,"bob@two.example,Bob,Two`,
		"4,cy.fox@three.example,Cy,Three",
		"5,not-an-address,Dee,Four",
		"6," + huge + ",Eve,Five",
		"7,fay.roe@six.example,Fay,Six", "",
	}, "\n"))
	p := f.start(enqueuePackage, "file", file, "--json")
	if code := p.Wait(time.Minute); code != 0 {
		t.Fatalf("ended with %d: %s", code, p.Stderr())
	}
	sum := decode[intake.Summary](t, p.Stdout())
	if want := (intake.Summary{Read: 7, Accepted: 3, Rejected: 4}); sum != want {
		t.Errorf("got %+v, want %+v", sum, want)
	}
	rejects, err := os.ReadFile(file + ".rejected.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"\n3,", "\n4,", "\n6,", "\n7,", "email", "quot"} {
		if !strings.Contains("\n"+string(rejects), part) {
			t.Errorf("the rejects lack %q:\n%.2000s", part, rejects)
		}
	}
	if !strings.Contains(p.Stderr(), "4 rows were rejected") {
		t.Errorf("nothing is said of the rejects: %q", p.Stderr())
	}
	f.start(workerPackage, "run", "--drain").Wait(time.Minute)
	if b := f.audit(); b.Settled.Enriched != 3 {
		t.Errorf("the neighbours did not come to their outcome: %+v", b)
	}
}

func TestTheDirectoryFillsWhatTheProvidersDoNotKnow(t *testing.T) {
	f := newFleet(t, "sqlite", "known: {clearbit: 0.0, hunter: 0.0}\n", troubleEnv...)
	people := f.write("people.csv", "email,name,title,company,domain,as_of\nann@one.example,Ann Lee,CTO,One Ltd,one.example,2026-01-31\n")
	out := f.run(0, enqueuePackage, "directory", people)
	if !strings.Contains(out, "inserted 1") {
		t.Errorf("enqueue directory: %s", out)
	}
	f.run(0, enqueuePackage, "file", f.write("leads.csv", "Id,Email\n1,ANN@one.example\n2,ben@two.example\n"))
	f.start(workerPackage, "run", "--drain").Wait(time.Minute)
	o := f.outcomes()
	if a := o["1"]; a.Status != lead.StatusEnriched || a.Provenance[lead.PersonTitle].Provider != "directory" || a.Provenance[lead.PersonTitle].AsOf.String() != "2026-01-31T00:00:00.000Z" {
		t.Errorf("the directory's person: %+v", a)
	}
	if b := o["2"]; b.Status != lead.StatusPartial || b.Profile[lead.CompanyDomain] != "two.example" {
		t.Errorf("nobody's person: %+v", b)
	}
	trace := f.run(0, enqueuePackage, "trace", "Ann@One.Example")
	for _, part := range []string{"directory", "no_data", "fallback", "CTO"} {
		if !strings.Contains(trace, part) {
			t.Errorf("the trace lacks %q:\n%s", part, trace)
		}
	}
	f.run(1, enqueuePackage, "trace", "ld_nobody")
}

func TestNoLogLineHoldsPersonalDataOrKeys(t *testing.T) {
	f := newFleet(t, "sqlite", troubleScript, append(troubleEnv, "BACKSTOP_LOG__LEVEL=debug")...)
	w := f.workers(1)[0]
	file := f.write("leads.csv", csvOf(60))
	e := f.start(enqueuePackage, "file", file)
	if code := e.Wait(time.Minute); code != 0 {
		t.Fatalf("enqueue ended with %d", code)
	}
	f.settled(time.Minute)
	stopped(t, w)
	secrets := []string{"@firm", "test-key", filepath.Base(file) + ":"}
	for _, o := range f.outcomes() {
		if name := o.Profile[lead.PersonFamilyName]; len(name) > 5 { // shorter ones may be part of an ID
			secrets = append(secrets, name, o.Profile[lead.PersonName])
		}
	}
	if len(secrets) < 10 {
		t.Fatalf("only %d things to look for", len(secrets))
	}
	for _, secret := range secrets {
		for _, log := range []string{w.Stderr(), w.Stdout(), e.Stderr()} {
			if i := strings.Index(log, secret); i >= 0 {
				t.Errorf("a log holds %q: %.200s", secret, log[max(0, i-100):])
			}
		}
	}
	if !strings.Contains(w.Stderr(), `"event":"call"`) || !strings.Contains(w.Stderr(), `"request_id":"req_`) {
		t.Errorf("the log lacks its events")
	}
}
