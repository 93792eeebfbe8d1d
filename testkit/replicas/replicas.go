// Package replicas runs Backstop in the test's own process: a real Redis, a ledger, the
// sandbox of the providers, and as many replicas as the test starts.
package replicas

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"backstop/accept"
	"backstop/chain"
	"backstop/lead"
	"backstop/ledger"
	"backstop/ops"
	"backstop/providers"
	"backstop/providers/httpjson"
	"backstop/providers/sandbox"
	"backstop/providers/vendors"
	"backstop/queue"
	"backstop/reconcile"
	"backstop/resilience"
	"backstop/tasks"
	"backstop/testkit"
)

// Soon is how long a test waits for what should come at once.
const Soon = 20 * time.Second

// Wanted are the fields of a full profile.
var Wanted = []lead.Field{lead.PersonName, lead.PersonTitle, lead.CompanyName, lead.CompanyDomain}

// Quick retries once and ends two seconds after the first failed call.
var Quick = resilience.Retry{Max: 1, Base: 100 * time.Millisecond, Factor: 1, Budget: 2 * time.Second}

// A Fleet is everything that leads meet on their way: a Redis, a ledger, two
// providers and as many replicas as the test starts.
type Fleet struct {
	T          *testing.T
	Redis      *testkit.RedisProcess
	RDB        *redis.Client
	Ledger     *ledger.Ledger
	Sandbox    *sandbox.Server
	Queue      *queue.Queue
	Inspector  *asynq.Inspector
	Deps       tasks.Deps       // of the servers that are started from now on
	Reconciler reconcile.Config // of the reconcilers that are started from now on
	Seen       *Observed
	Log        *LogBook
}

// New puts a fleet together. No replica runs yet, and calls have no limits.
func New(t *testing.T, script sandbox.Script) *Fleet {
	t.Helper()
	return NewOn(t, script, "sqlite://"+filepath.Join(t.TempDir(), "ledger.db"))
}

// NewOn is New on another ledger than a SQLite file.
func NewOn(t *testing.T, script sandbox.Script, ledgerURL string) *Fleet {
	t.Helper()
	f := &Fleet{T: t, Redis: testkit.RedisServer(t), Seen: &Observed{}, Log: &LogBook{}}
	f.RDB = f.Redis.Client()
	f.Queue, f.Inspector = queue.New(f.RDB, "backstop"), asynq.NewInspectorFromRedisClient(f.RDB)
	var err error
	if f.Ledger, err = ledger.Open(t.Context(), ledgerURL, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { testkit.NoError(t, f.Ledger.Close()) })
	if f.Sandbox, err = sandbox.Start(context.WithoutCancel(t.Context()), script, sandbox.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { testkit.NoError(t, f.Sandbox.Close(context.Background())) })
	freeze := tasks.NewFreezeDetector(time.Now)
	gate := freeze.Guard(resilience.NewLocalGate(nil, resilience.LocalOptions{}))
	log := zerolog.New(f.Log)
	f.Deps = tasks.Deps{
		Ledger: f.Ledger, Queue: f.Queue, Log: log, Observer: f.Seen, Freeze: freeze,
		Chain:    f.Chain(gate, resilience.DefaultRetry, f.Provider("clearbit"), f.Provider("hunter")),
		Fallback: f.Chain(gate, resilience.Retry{Base: time.Second, Factor: 1, Budget: 5 * time.Second}, vendors.NewDirectory(f.Ledger.LookupEntry)),
	}
	f.Deps.Fallback.NoWait = true
	f.Reconciler = reconcile.Config{Ledger: f.Ledger, Queue: f.Queue, Want: Wanted, Log: log, Observer: f.Seen}
	t.Cleanup(f.checkLog)
	return f
}

// Chain is a chain with quick answers to what is pending.
func (f *Fleet) Chain(g resilience.Gate, r resilience.Retry, ps ...providers.Provider) *chain.Chain {
	return &chain.Chain{
		Providers: ps, Gate: g, Want: Wanted, Retry: r, Now: time.Now,
		Pending: chain.Pending{First: time.Second, Max: 5 * time.Second},
	}
}

// Provider is a vendor as the sandbox imitates it.
func (f *Fleet) Provider(name string) providers.Provider {
	f.T.Helper()
	transport := &http.Transport{}
	f.T.Cleanup(transport.CloseIdleConnections)
	p, err := vendors.New(name, httpjson.Options{
		BaseURL: f.Sandbox.URL(name), APIKey: "key", Want: Wanted, HTTP: &http.Client{Transport: transport},
	})
	testkit.NoError(f.T, err)
	return p
}

// Start runs a replica until the test ends or stop is called, which waits for it.
func (f *Fleet) Start() (stop func()) {
	f.T.Helper()
	return f.StartWith(tasks.ServerConfig{Concurrency: 16, Grace: 5 * time.Second})
}

// StartWith is Start of a server of another size.
func (f *Fleet) StartWith(c tasks.ServerConfig) (stop func()) {
	f.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	server, reconciler := tasks.NewServer(f.RDB, f.Deps, c), reconcile.New(f.Reconciler)
	ended := make(chan error, 1)
	go func() {
		var wg sync.WaitGroup
		wg.Go(func() { reconciler.Run(ctx) })
		err := server.Run(ctx)
		wg.Wait()
		ended <- err
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		testkit.NoError(f.T, <-ended)
	})
	f.T.Cleanup(stop)
	return stop
}

// Put accepts leads as a source system would hand them in.
func (f *Fleet) Put(emails ...string) []ledger.Accepted {
	f.T.Helper()
	e := f.Enqueuer()
	accepted, err := e.Put(f.T.Context(), Leads(f.T, emails...))
	testkit.NoError(f.T, err)
	if n := e.Unqueued(); n != 0 {
		f.T.Fatalf("%d leads are not queued", n)
	}
	return accepted
}

// Leads are leads with nothing but an address.
func Leads(t *testing.T, emails ...string) []lead.Lead {
	t.Helper()
	var out []lead.Lead
	for _, e := range emails {
		l, err := lead.Normalize(lead.Lead{Email: e})
		testkit.NoError(t, err)
		out = append(out, l)
	}
	return out
}

// Outcome waits until the lead has one.
func (f *Fleet) Outcome(a ledger.Accepted) lead.Outcome {
	f.T.Helper()
	var o lead.Outcome
	testkit.Eventually(f.T, Soon, "the lead has an outcome", func() bool {
		var err error
		o, err = f.Ledger.Outcome(f.T.Context(), a.LeadID)
		testkit.NoError(f.T, err)
		return o.Status != ""
	})
	return o
}

// States are the states of the lead's tasks.
func (f *Fleet) States(a ledger.Accepted) queue.States {
	f.T.Helper()
	s, err := f.Queue.States(f.T.Context(), []lead.Run{{LeadID: a.LeadID, Generation: a.Generation}})
	testkit.NoError(f.T, err)
	return s[0]
}

// Becomes waits for the states of a lead's tasks.
func (f *Fleet) Becomes(a ledger.Accepted, want queue.States) {
	f.T.Helper()
	var got queue.States
	defer func() {
		if f.T.Failed() {
			f.T.Logf("the tasks' states are %+v, want %+v", got, want)
		}
	}()
	testkit.Eventually(f.T, Soon, "states of the tasks", func() bool {
		got = f.States(a)
		return got == want
	})
}

// Restart brings Redis back, empty. Its clients go on reporting the last refused
// connection for up to a second.
func (f *Fleet) Restart() {
	f.T.Helper()
	f.Redis.Restart()
	testkit.Eventually(f.T, Soon, "Redis is back", func() bool { return f.RDB.Ping(f.T.Context()).Err() == nil })
}

// Known marks Redis as known, so that the reconciler does not take it for new.
func (f *Fleet) Known() {
	f.T.Helper()
	testkit.NoError(f.T, f.Queue.SetEpoch(f.T.Context(), "known"))
}

// Reconcile makes the step of a reconciler of a minute from now.
func (f *Fleet) Reconcile() {
	f.T.Helper()
	c := f.Reconciler
	c.Now = func() time.Time { return time.Now().Add(time.Minute) }
	testkit.NoError(f.T, f.RDB.Del(f.T.Context(), "backstop:tasks:reconciler").Err()) // the one before may still hold the lease
	testkit.NoError(f.T, reconcile.New(c).Step(f.T.Context()))
}

// Audit counts the leads, those included that were accepted within so long from now.
func (f *Fleet) Audit(within time.Duration) ops.AuditCounts {
	f.T.Helper()
	c, err := ops.Audit(f.T.Context(), f.Ledger, f.Queue, time.Now().Add(within), nil)
	testkit.NoError(f.T, err)
	return c
}

// Enqueuer is what accepts leads.
func (f *Fleet) Enqueuer() *accept.Enqueuer {
	return accept.New(f.Ledger, f.Queue, f.Deps.Log)
}

// PayloadOf is what the lead's tasks carry.
func PayloadOf(a ledger.Accepted) queue.Payload {
	return queue.Payload{LeadID: a.LeadID, RequestID: a.RequestID, Generation: a.Generation, Lead: a.Lead}
}

// checkLog holds every test's log against the promise that it names nobody.
func (f *Fleet) checkLog() {
	for line := range strings.Lines(f.Log.String()) {
		if strings.Contains(line, ".example") || strings.Contains(line, "Ann Lee") {
			f.T.Errorf("personal data in the log: %s", line)
		}
	}
	if f.T.Failed() {
		f.T.Logf("log:\n%s", f.Log)
	}
}

// Emails are addresses of people whom the sandbox knows.
func Emails(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("ann.lee%d@acme%d.example", i, i)
	}
	return out
}

// Down is a fault of a provider that answers nothing but 503; "" is all of them.
func Down(provider string) sandbox.Fault { return sandbox.Fault{Provider: provider, Status: 503} }

// Faults is the script of these faults.
func Faults(fs ...sandbox.Fault) sandbox.Script { return sandbox.Script{Faults: fs} }

// Classes are the trail as "provider class", in order.
func Classes(trail []lead.TrailEntry) []string {
	out := []string{}
	for _, e := range trail {
		out = append(out, e.Provider+" "+string(e.Class))
	}
	return out
}
