package monitor

import (
	"testing"

	"backstop/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
