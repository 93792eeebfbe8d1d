package queue_test

import (
	"testing"

	"backstop/providers/sandbox"
	"backstop/testkit"
	"backstop/testkit/replicas"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// A fleet is the replicas of a test, with what the tests of this package need beside.
type fleet struct{ *replicas.Fleet }

func newFleet(t *testing.T, script sandbox.Script) *fleet { return &fleet{replicas.New(t, script)} }
