package testkit

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestEachRedisIsAlone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	one, two := RedisServer(t), RedisServer(t)
	if err := one.Client().Set(ctx, "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := two.Client().Get(ctx, "key").Err(); err != redis.Nil {
		t.Errorf("a key of one server read from another: %v, want nothing", err)
	}
}

func TestTheURLOpensTheServer(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(*testing.T) string{
		"plain":           func(t *testing.T) string { return Redis(t) },
		"with a password": func(t *testing.T) string { return RedisServer(t, WithPassword("open-sesame")).URL() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options, err := redis.ParseURL(url(t))
			if err != nil {
				t.Fatal(err)
			}
			client := redis.NewClient(options)
			defer client.Close()
			if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOptionsReachTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		options         []RedisOption
		directive, want string
	}{
		{"by default nothing is kept", nil, "appendonly", "no"},
		{"by default no snapshots are taken", nil, "save", ""},
		{"the append-only file once a second", []RedisOption{WithAOFEverySec()}, "appendfsync", "everysec"},
		{"the append-only file at each write", []RedisOption{WithAOFAlways()}, "appendfsync", "always"},
		{"a memory limit", []RedisOption{WithMaxMemory(64<<20, "allkeys-lru")}, "maxmemory", "67108864"},
		{"a memory policy", []RedisOption{WithMaxMemory(64<<20, "allkeys-lru")}, "maxmemory-policy", "allkeys-lru"},
		{"any directive, the later one wins", []RedisOption{WithDirective("hz", "20"), WithDirective("hz", "30")}, "hz", "30"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := RedisServer(t, c.options...).Client().ConfigGet(t.Context(), c.directive).Result()
			if err != nil {
				t.Fatal(err)
			}
			if got[c.directive] != c.want {
				t.Errorf("%s is %q, want %q", c.directive, got[c.directive], c.want)
			}
		})
	}
}

func TestAfterAKillAndARestartTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		options []RedisOption
		keys    int64
	}{
		{"is empty without an append-only file", nil, 0},
		{"has its data with one", []RedisOption{WithAOFEverySec()}, 1},
		{"has its data with one that is written each time", []RedisOption{WithAOFAlways()}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			server := RedisServer(t, c.options...)
			client := server.Client()
			if err := client.Set(ctx, "key", "value", 0).Err(); err != nil {
				t.Fatal(err)
			}
			url, pid := server.URL(), server.PID()
			server.Kill()
			if server.answers() {
				t.Fatal("a killed server answers")
			}
			server.Restart()
			if server.URL() != url || server.PID() == pid {
				t.Errorf("restarted as process %d at %s; it was %d at %s", server.PID(), server.URL(), pid, url)
			}
			keys, err := client.DBSize(ctx).Result()
			if err != nil {
				t.Fatal(err)
			}
			if keys != c.keys {
				t.Errorf("it has %d keys, want %d", keys, c.keys)
			}
		})
	}
}

func TestAStoppedServerAnswersAfterCont(t *testing.T) {
	t.Parallel()
	server := RedisServer(t)
	client := server.Client()
	server.Stop()

	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- client.Ping(t.Context()).Err() }()
	select {
	case err := <-answer:
		t.Fatalf("a stopped server answers: %v", err)
	case <-short.Done():
	}
	server.Cont()
	if err := <-answer; err != nil {
		t.Errorf("after Cont: %v", err)
	}
}

func TestFlushAllForgetsDataAndScripts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := RedisServer(t)
	client := server.Client()
	sha, err := client.ScriptLoad(ctx, "return redis.call('SET', KEYS[1], 'value')").Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.EvalSha(ctx, sha, []string{"key"}).Err(); err != nil {
		t.Fatal(err)
	}
	server.FlushAll()
	if keys, err := client.DBSize(ctx).Result(); err != nil || keys != 0 {
		t.Errorf("%d keys, %v; want none", keys, err)
	}
	if err := client.EvalSha(ctx, sha, []string{"key"}).Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
		t.Errorf("running the script: %v, want NOSCRIPT", err)
	}
}

// TestAServerEndsWithItsTest also runs in a process that is killed while it holds
// the server: see TestAServerEndsWithTheTestBinary.
func TestAServerEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var server *RedisProcess
	t.Run("a test", func(t *testing.T) {
		server = RedisServer(t)
		if os.Getenv(holdServer) != "" {
			fmt.Println("holding", server.PID())
			if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
				t.Error(err)
			}
		}
	})
	if err := syscall.Kill(server.PID(), 0); err != syscall.ESRCH {
		t.Errorf("signal 0 to the server: %v, want no such process", err)
	}
}

// holdServer is the variable that makes that test hold its server for ever.
const holdServer = "TESTKIT_HOLD_SERVER"

func TestAServerThatDoesNotStartSaysWhy(t *testing.T) {
	t.Parallel()
	said := failure(t, func(tb testing.TB) {
		RedisServer(tb, WithDirective("no-such-directive", "1"))
	})
	if !strings.Contains(said, "no-such-directive") {
		t.Errorf("it says %q", said)
	}
}

func TestRedisIsNotFound(t *testing.T) {
	for _, c := range []struct{ name, program, says string }{
		{"when it is not installed", "", "Debian package redis-server"},
		{"when it is too old", "#!/bin/sh\necho 'Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64'\n", "6.2 or newer"},
		{"when it does not say its version", "#!/bin/sh\necho hello\n", "no version"},
		{"when it does not run", "#!/bin/sh\nexit 1\n", "exit status 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.program != "" {
				if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte(c.program), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", dir)
			if program, err := findRedis(); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("found %q, %v; want an error with %q", program, err, c.says)
			}
		})
	}
}

func TestTheVersionOfRedis(t *testing.T) {
	t.Parallel()
	for said, good := range map[string]bool{
		"Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64":           false,
		"Redis server v=5.0.14 sha=00000000:0":                                         false,
		"Redis server v=6.2.0 sha=00000000:0 malloc=libc bits=64":                      true,
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=abc": true,
		"Redis server v=10.1.0": true,
		"Valkey server v=8.1.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64": true,
		"":                                       false,
		"v=99999999999999999999.1 is no version": false,
	} {
		if err := checkRedisVersion(said); (err == nil) != good {
			t.Errorf("%q: %v", said, err)
		}
	}
}
