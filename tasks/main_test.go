package tasks_test

import (
	"testing"
	"time"

	"backstop/ledger"
	"backstop/providers/sandbox"
	"backstop/tasks"
	"backstop/testkit"
	"backstop/testkit/replicas"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// A fleet is the replicas of a test, with what the tests of this package need beside.
type fleet struct{ *replicas.Fleet }

func newFleet(t *testing.T, script sandbox.Script) *fleet { return &fleet{replicas.New(t, script)} }

func afterOutage(t *testing.T, n int) (*fleet, []ledger.Accepted) {
	t.Helper()
	f, accepted := replicas.AfterOutage(t, n)
	return &fleet{f}, accepted
}

// quickStop gives the calls under way no time.
var quickStop = tasks.ServerConfig{Concurrency: 4, Grace: 100 * time.Millisecond}
