package app

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"backstop/testkit"
)

func TestMain(m *testing.M) {
	logging.Disable() // as Main does
	testkit.Main(m)
}
