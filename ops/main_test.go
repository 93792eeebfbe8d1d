package ops_test

import (
	"testing"

	"backstop/ledger"
	"backstop/providers/sandbox"
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
