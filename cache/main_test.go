package cache_test

import (
	"context"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"backstop/testkit"
)

// silent takes what go-redis logs.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	if addr := os.Getenv(childEnv); addr != "" {
		claimAndHang(addr)
	}
	redis.SetLogger(silent{}) // it says on standard error when a server is away
	testkit.Main(m)
}
