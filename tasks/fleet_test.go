package tasks

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"backstop/lead"
	"backstop/ledger"
	"backstop/providers"
	"backstop/providers/sandbox"
	"backstop/resilience"
	"backstop/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// soon is how long a test waits for what should come at once.
const soon = 20 * time.Second

// wanted are the fields of a full profile.
var wanted = []lead.Field{lead.PersonName, lead.PersonTitle, lead.CompanyName, lead.CompanyDomain}

// quick retries once and ends two seconds after the first failed call.
var quick = resilience.Retry{Max: 1, Base: 100 * time.Millisecond, Factor: 1, Budget: 2 * time.Second}

// A fleet is everything that leads meet on their way: a Redis, a ledger, two
// providers and as many replicas as the test starts.
type fleet struct {
	t         *testing.T
	redis     *testkit.RedisProcess
	rdb       *redis.Client
	ledger    *ledger.Ledger
	sandbox   *sandbox.Server
	queue     *Queue
	inspector *asynq.Inspector
	deps      Deps
	seen      *sightings
	log       *logBook
}

// newFleet puts a fleet together. No replica runs yet, and calls have no limits.
func newFleet(t *testing.T, script sandbox.Script) *fleet {
	t.Helper()
	return newFleetOn(t, script, "sqlite://"+filepath.Join(t.TempDir(), "ledger.db"))
}

func newFleetOn(t *testing.T, script sandbox.Script, ledgerURL string) *fleet {
	t.Helper()
	f := &fleet{t: t, redis: testkit.RedisServer(t), seen: &sightings{}, log: &logBook{}}
	f.rdb = f.redis.Client()
	f.queue, f.inspector = NewQueue(f.rdb), asynq.NewInspectorFromRedisClient(f.rdb)
	var err error
	if f.ledger, err = ledger.Open(t.Context(), ledgerURL, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { noError(t, f.ledger.Close()) })
	if f.sandbox, err = sandbox.Start(context.WithoutCancel(t.Context()), script, sandbox.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { noError(t, f.sandbox.Close(context.Background())) })
	gate := resilience.NewLocalGate(nil, resilience.LocalOptions{})
	f.deps = Deps{
		Ledger: f.ledger, Queue: f.queue, Log: zerolog.New(f.log), Observer: f.seen,
		Chain:    f.chain(gate, resilience.DefaultRetry, f.provider("clearbit"), f.provider("hunter")),
		Fallback: f.chain(gate, resilience.Retry{Base: time.Second, Factor: 1, Budget: 5 * time.Second}, providers.NewDirectory(f.ledger.LookupPerson)),
	}
	t.Cleanup(f.checkLog)
	return f
}

func (f *fleet) chain(g resilience.Gate, r resilience.Retry, ps ...providers.Provider) *resilience.Chain {
	return &resilience.Chain{
		Providers: ps, Gate: g, Want: wanted, Retry: r, Now: time.Now,
		Pending: resilience.Pending{First: time.Second, Max: 5 * time.Second},
	}
}

func (f *fleet) provider(name string) providers.Provider {
	f.t.Helper()
	transport := &http.Transport{}
	f.t.Cleanup(transport.CloseIdleConnections)
	p, err := providers.New(name, providers.Options{
		BaseURL: f.sandbox.URL(name), APIKey: "key", Want: wanted, HTTP: &http.Client{Transport: transport},
	})
	noError(f.t, err)
	return p
}

// start runs a replica until the test ends or stop is called, which waits for it.
func (f *fleet) start() (stop func()) {
	f.t.Helper()
	return f.startWith(ServerConfig{Concurrency: 16, Grace: 5 * time.Second})
}

func (f *fleet) startWith(c ServerConfig) (stop func()) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	server := NewServer(f.rdb, f.deps, c)
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		noError(f.t, <-ended)
	})
	f.t.Cleanup(stop)
	return stop
}

// put accepts leads as a source system would hand them in.
func (f *fleet) put(emails ...string) []ledger.Accepted {
	f.t.Helper()
	e := &Enqueuer{Ledger: f.ledger, Queue: f.queue, Log: f.deps.Log}
	accepted, err := e.Put(f.t.Context(), leads(f.t, emails...))
	noError(f.t, err)
	if n := e.Unqueued(); n != 0 {
		f.t.Fatalf("%d leads are not queued", n)
	}
	return accepted
}

func leads(t *testing.T, emails ...string) []lead.Lead {
	t.Helper()
	var out []lead.Lead
	for _, e := range emails {
		l, err := lead.Normalize(lead.Lead{Email: e})
		noError(t, err)
		out = append(out, l)
	}
	return out
}

// outcome waits until the lead has one.
func (f *fleet) outcome(a ledger.Accepted) lead.Outcome {
	f.t.Helper()
	var o lead.Outcome
	testkit.Eventually(f.t, soon, "the lead has an outcome", func() bool {
		var err error
		o, err = f.ledger.Outcome(f.t.Context(), a.LeadID)
		noError(f.t, err)
		return o.Status != ""
	})
	return o
}

func (f *fleet) states(a ledger.Accepted) TaskStates {
	f.t.Helper()
	s, err := f.queue.States(f.t.Context(), []ledger.Ref{{LeadID: a.LeadID, Generation: a.Generation}})
	noError(f.t, err)
	return s[0]
}

// becomes waits for the states of a lead's tasks.
func (f *fleet) becomes(a ledger.Accepted, want TaskStates) {
	f.t.Helper()
	var got TaskStates
	defer func() {
		if f.t.Failed() {
			f.t.Logf("the tasks' states are %+v, want %+v", got, want)
		}
	}()
	testkit.Eventually(f.t, soon, "states of the tasks", func() bool {
		got = f.states(a)
		return got == want
	})
}

// restart brings Redis back, empty. Its clients go on reporting the last refused
// connection for up to a second.
func (f *fleet) restart() {
	f.t.Helper()
	f.redis.Restart()
	testkit.Eventually(f.t, soon, "Redis is back", func() bool { return f.rdb.Ping(f.t.Context()).Err() == nil })
}

// epoch marks Redis as known, so that the reconciler does not take it for new.
func (f *fleet) epoch() {
	f.t.Helper()
	_, err := f.queue.sameRedis(f.t.Context())
	noError(f.t, err)
}

// reconcile makes the reconciler's step of a minute from now.
func (f *fleet) reconcile() {
	f.t.Helper()
	d := f.deps
	d.Now = func() time.Time { return time.Now().Add(time.Minute) }
	r := newReconciler(newHandlers(d))
	r.token = "test" // the one before may still hold the lease
	noError(f.t, r.step(f.t.Context()))
}

func (f *fleet) audit(within time.Duration) Books {
	f.t.Helper()
	b, err := Audit(f.t.Context(), f.ledger, f.queue, time.Now().Add(within), nil)
	noError(f.t, err)
	return b
}

func payloadOf(a ledger.Accepted) Payload {
	return Payload{LeadID: a.LeadID, RequestID: a.RequestID, Generation: a.Generation, Lead: a.Lead}
}

// checkLog holds every test's log against the promise that it names nobody.
func (f *fleet) checkLog() {
	for line := range strings.Lines(f.log.String()) {
		if strings.Contains(line, ".example") || strings.Contains(line, "Ann Lee") {
			f.t.Errorf("personal data in the log: %s", line)
		}
	}
	if f.t.Failed() {
		f.t.Logf("log:\n%s", f.log)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sightings are what an observer was told.
type sightings struct {
	nobody
	mu                       sync.Mutex
	settled                  []Settlement
	retries, snoozes, panics int
	rescuedTo                map[string]int
}

func (s *sightings) Settled(x Settlement) { s.note(func() { s.settled = append(s.settled, x) }) }
func (s *sightings) Retry(string)         { s.note(func() { s.retries++ }) }
func (s *sightings) Snooze()              { s.note(func() { s.snoozes++ }) }
func (s *sightings) Panicked(string)      { s.note(func() { s.panics++ }) }
func (s *sightings) Rescued(n int, to string) {
	s.note(func() {
		if s.rescuedTo == nil {
			s.rescuedTo = map[string]int{}
		}
		s.rescuedTo[to] += n
	})
}

func (s *sightings) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// last is the latest settlement, once there is one: it is told after the ledger.
func (s *sightings) last(t *testing.T) (last Settlement) {
	t.Helper()
	testkit.Eventually(t, soon, "the observer is told", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if n := len(s.settled); n > 0 {
			last = s.settled[n-1]
		}
		return len(s.settled) > 0
	})
	return last
}

func (s *sightings) counts() (retries, snoozes, panics int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.retries, s.snoozes, s.panics
}

func (s *sightings) rescued(to string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rescuedTo[to]
}

// A logBook keeps log lines.
type logBook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
