package testkit

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// redisReady is how long a server may take until it answers. It takes some 20 ms
// when it has no data to load.
const redisReady = 20 * time.Second

// A RedisOption sets something other than the default of a Redis server, which
// is to keep nothing on disk.
type RedisOption func(*redisConfig)

// redisConfig is what a server's command line is made of.
type redisConfig struct {
	directives [][]string // each a name and its arguments
	password   string
}

// WithDirective sets any directive of redis.conf. A later one wins.
func WithDirective(name string, args ...string) RedisOption {
	return func(c *redisConfig) {
		c.directives = append(c.directives, append([]string{name}, args...))
	}
}

// WithAOFEverySec has the server write its append-only file through to the disk
// once a second, as it does in production: a crash may lose the last second.
func WithAOFEverySec() RedisOption { return withAOF("everysec") }

// WithAOFAlways has the server write through before each reply. A crash loses
// nothing that was acknowledged.
func WithAOFAlways() RedisOption { return withAOF("always") }

func withAOF(fsync string) RedisOption {
	return func(c *redisConfig) {
		WithDirective("appendonly", "yes")(c)
		WithDirective("appendfsync", fsync)(c)
	}
}

// WithMaxMemory limits the data to so many bytes and says what happens beyond,
// such as "noeviction" or "allkeys-lru".
func WithMaxMemory(bytes int64, policy string) RedisOption {
	return func(c *redisConfig) {
		WithDirective("maxmemory", fmt.Sprint(bytes))(c)
		WithDirective("maxmemory-policy", policy)(c)
	}
}

// WithPassword makes the server ask for a password. URL holds it.
func WithPassword(password string) RedisOption {
	return func(c *redisConfig) {
		WithDirective("requirepass", password)(c)
		c.password = password
	}
}

// A RedisProcess is a Redis server that belongs to one test.
type RedisProcess struct {
	tb      testing.TB
	program string
	addr    string
	dir     string
	config  redisConfig
	child   *child  // the one that runs now, or that was killed last
	out     *output // of that one
}

// Redis starts a Redis server that keeps nothing on disk and returns its URL. It
// ends with the test.
func Redis(tb testing.TB) string {
	tb.Helper()
	return RedisServer(tb).URL()
}

// RedisServer starts a Redis server, to be interfered with. It ends with the test.
func RedisServer(tb testing.TB, options ...RedisOption) *RedisProcess {
	tb.Helper()
	program, err := redisProgram()
	if err != nil {
		tb.Fatal(err)
	}
	r := &RedisProcess{tb: tb, program: program, dir: tb.TempDir()}
	WithDirective("save", "")(&r.config)
	WithDirective("appendonly", "no")(&r.config)
	for _, set := range options {
		set(&r.config)
	}
	tb.Cleanup(r.end)
	r.launch()
	return r
}

// launch starts the server on a free port. Somebody may take that port before
// the server does, so it tries a few.
func (r *RedisProcess) launch() {
	r.tb.Helper()
	var err error
	for range 5 {
		if r.addr, err = freeAddr(); err != nil {
			break
		}
		if err = r.start(); err == nil {
			return
		}
	}
	r.tb.Fatal(err)
}

// start runs the server at r.addr and returns when it answers commands.
func (r *RedisProcess) start() error {
	cmd := exec.Command(r.program, r.arguments()...)
	r.out = newOutput()
	cmd.Stdout, cmd.Stderr = r.out.writer(stdout), r.out.writer(stderr)
	var err error
	if r.child, err = startChild(cmd); err != nil {
		return err
	}
	answers := func() bool { return r.ended() || r.answers() }
	switch up := poll(redisReady, answers); {
	case r.ended():
		return fmt.Errorf("redis-server at %s ended at its start:\n%s", r.addr, r.out.tail(20))
	case !up:
		return fmt.Errorf("redis-server at %s gives no answer after %v:\n%s", r.addr, redisReady, r.out.tail(20))
	}
	return nil
}

// arguments returns the server's command line.
func (r *RedisProcess) arguments() []string {
	host, port, _ := strings.Cut(r.addr, ":")
	args := []string{"--bind", host, "--port", port, "--dir", r.dir}
	for _, d := range r.config.directives {
		args = append(append(args, "--"+d[0]), d[1:]...)
	}
	return args
}

func (r *RedisProcess) ended() bool {
	select {
	case <-r.child.done:
		return true
	default:
		return false
	}
}

// answers reports whether the server has loaded its data: until then it says
// -LOADING to a PING. One that wants a password says -NOAUTH once it is ready.
func (r *RedisProcess) answers() bool {
	conn, err := net.DialTimeout("tcp", r.addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return false
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return err == nil && (strings.HasPrefix(line, "+PONG") || strings.HasPrefix(line, "-NOAUTH"))
}

// end is the clean-up of the test.
func (r *RedisProcess) end() {
	if r.child == nil {
		return
	}
	if err := r.child.kill(); err != nil {
		r.tb.Errorf("end redis-server: %v", err)
	}
	if r.tb.Failed() {
		r.tb.Logf("redis-server at %s wrote:\n%s", r.addr, r.out.tail(30))
	}
}

// URL returns the server's address in the form redis://host:port/0. It stays the
// same over a Restart.
func (r *RedisProcess) URL() string {
	user := ""
	if r.config.password != "" {
		user = ":" + r.config.password + "@"
	}
	return "redis://" + user + r.addr + "/0"
}

// Addr returns the server's address in the form host:port.
func (r *RedisProcess) Addr() string { return r.addr }

// PID returns the process ID of the server, or of the last one after a Kill.
func (r *RedisProcess) PID() int { return r.child.pid() }

// Stop halts the server with SIGSTOP: it keeps its connections and the kernel
// goes on accepting new ones, but nothing is answered until Cont.
func (r *RedisProcess) Stop() {
	r.tb.Helper()
	if err := r.child.stop(redisReady); err != nil {
		r.tb.Fatal(err)
	}
}

// Cont lets a halted server go on. It first does what was sent meanwhile.
func (r *RedisProcess) Cont() {
	r.tb.Helper()
	if err := r.child.resume(); err != nil {
		r.tb.Fatal(err)
	}
}

// Kill ends the server as kill -9 does and returns when it is gone. What it did
// not write through to the disk stays in the kernel's cache and is written: to
// lose it takes the end of the machine, or FlushAll.
func (r *RedisProcess) Kill() {
	r.tb.Helper()
	if err := r.child.kill(); err != nil {
		r.tb.Fatal(err)
	}
}

// Restart kills the server if it runs and starts it again with the same address
// and options. Without an append-only file it comes back empty.
func (r *RedisProcess) Restart() {
	r.tb.Helper()
	r.Kill()
	if err := r.start(); err != nil {
		r.tb.Fatal(err)
	}
}

// FlushAll deletes all data and all loaded scripts, as an operator's mistake or a
// replaced server would.
func (r *RedisProcess) FlushAll() {
	r.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), redisReady)
	defer cancel()
	client := r.newClient()
	defer client.Close()
	if err := client.FlushAll(ctx).Err(); err != nil {
		r.tb.Fatalf("flush Redis: %v", err)
	}
	if err := client.ScriptFlush(ctx).Err(); err != nil {
		r.tb.Fatalf("flush Redis's scripts: %v", err)
	}
}

// Client returns a client of the server, which is closed at the end of the test.
func (r *RedisProcess) Client() *redis.Client {
	client := r.newClient()
	r.tb.Cleanup(func() {
		if err := client.Close(); err != nil {
			r.tb.Errorf("close Redis client: %v", err)
		}
	})
	return client
}

func (r *RedisProcess) newClient() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:     r.addr,
		Password: r.config.password,
		// The server's own notices of maintenance exist in hosted Redis only.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}
