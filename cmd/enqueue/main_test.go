package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"backstop/app"
	"backstop/testkit"
)

func TestMain(m *testing.M) {
	logging.Disable() // as app.Main does
	testkit.Main(m)
}

// A result is what a command did.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the command in this process, with what the test has set in the environment.
func run(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errs)
	code := app.Run(t.Context(), root)
	return result{code, out.String(), errs.String()}
}

// The addresses of servers that are away.
const (
	refusingRedis    = "redis://127.0.0.1:1/0"
	refusingPostgres = "postgres://app:hunter2@127.0.0.1:1/backstop"
)

// hangingRedis takes connections and answers nothing.
func hangingRedis(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return "redis://" + l.Addr().String() + "/0"
}

// setUp gives the test a folder of its own, with a ledger in it, and a Redis.
func setUp(t *testing.T, redis string) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("BACKSTOP_REDIS__URL", redis)
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// files lists the folder without the ledger.
func files(t *testing.T) string {
	t.Helper()
	all, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.Join(all, " "), "backstop-data ", "")
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
