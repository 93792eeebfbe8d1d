package testkit

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// sentinelMaster is the name under which the sentinel knows the master.
const sentinelMaster = "backstop"

// failoverWithin is how long a failover and the return of the old master may take.
const failoverWithin = 60 * time.Second

// A SentinelGroup is a Redis master with one replica and a sentinel that replaces
// the one by the other.
type SentinelGroup struct {
	tb              testing.TB
	master, replica *RedisProcess
	addr            string // the sentinel's
	child           *child
	out             *output
}

// Sentinel starts a group. It ends with the test.
func Sentinel(tb testing.TB) *SentinelGroup {
	tb.Helper()
	s := &SentinelGroup{tb: tb, master: RedisServer(tb)}
	s.replica = RedisServer(tb)
	s.follow()
	tb.Cleanup(s.end)
	if err := s.start(); err != nil {
		tb.Fatal(err)
	}
	s.awaitReplica()
	return s
}

// URL returns the group's address in the form redis-sentinel://host:port/0?master=name.
func (s *SentinelGroup) URL() string {
	return "redis-sentinel://" + s.addr + "/0?master=" + sentinelMaster
}

// Master returns the server that is the master now.
func (s *SentinelGroup) Master() *RedisProcess { return s.master }

// Failover kills the master after its replica has got nothing for the time lag,
// waits until the sentinel has made the replica the master, and brings the old
// master back as a replica. What the master acknowledged during the lag is lost.
func (s *SentinelGroup) Failover(lag time.Duration) {
	s.tb.Helper()
	s.replica.Stop()
	// Without its connection: what the kernel takes in for a stopped process would
	// still reach it later.
	s.command(s.master, "CLIENT", "KILL", "TYPE", "replica")
	ctx, cancel := context.WithTimeout(s.tb.Context(), lag)
	defer cancel()
	<-ctx.Done()
	s.master.Kill()
	s.replica.Cont()
	old := s.master
	s.await("the sentinel has made the replica the master", func(ctx context.Context, c *redis.SentinelClient) bool {
		s.ask(ctx, c)
		return s.master != old
	})
	s.replica.Restart()
	s.follow()
	s.awaitReplica()
}

// ask takes note of which server the sentinel calls the master.
func (s *SentinelGroup) ask(ctx context.Context, c *redis.SentinelClient) {
	addr, err := c.GetMasterAddrByName(ctx, sentinelMaster).Result()
	if err == nil && len(addr) == 2 && net.JoinHostPort(addr[0], addr[1]) == s.replica.addr {
		s.master, s.replica = s.replica, s.master
	}
}

// follow makes the replica one.
func (s *SentinelGroup) follow() {
	s.tb.Helper()
	host, port, _ := strings.Cut(s.master.addr, ":")
	s.command(s.replica, "REPLICAOF", host, port)
}

func (s *SentinelGroup) command(r *RedisProcess, args ...any) {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(s.tb.Context(), redisReady)
	defer cancel()
	client := r.newClient()
	defer client.Close()
	if err := client.Do(ctx, args...).Err(); err != nil {
		s.tb.Fatalf("%v: %v", args, err)
	}
}

// start runs the sentinel and returns when it answers. It alone is the majority.
func (s *SentinelGroup) start() (err error) {
	if s.addr, err = freeAddr(); err != nil {
		return err
	}
	host, port, _ := strings.Cut(s.master.addr, ":")
	_, own, _ := strings.Cut(s.addr, ":")
	config := filepath.Join(s.tb.TempDir(), "sentinel.conf")
	err = os.WriteFile(config, fmt.Appendf(nil, `bind 127.0.0.1
port %[1]s
sentinel monitor %[2]s %[3]s %[4]s 1
sentinel down-after-milliseconds %[2]s 2500
sentinel failover-timeout %[2]s 2000
`, own, sentinelMaster, host, port), 0o600)
	if err != nil {
		return err
	}
	s.out = newOutput()
	cmd := exec.Command(s.master.program, config, "--sentinel")
	cmd.Stdout, cmd.Stderr = s.out.writer(stdout), s.out.writer(stderr)
	s.child, err = startChild(cmd)
	return err
}

// awaitReplica waits until a failover would work.
func (s *SentinelGroup) awaitReplica() {
	s.tb.Helper()
	s.await("the sentinel knows the replica", func(ctx context.Context, c *redis.SentinelClient) bool {
		s.ask(ctx, c) // a busy machine may have it change its mind
		replicas, err := c.Replicas(ctx, sentinelMaster).Result()
		return err == nil && len(replicas) == 1 && replicas[0]["master-link-status"] == "ok" &&
			replicas[0]["flags"] == "slave" && net.JoinHostPort(replicas[0]["ip"], replicas[0]["port"]) == s.replica.addr
	})
}

// await polls the sentinel until holds is true.
func (s *SentinelGroup) await(what string, holds func(context.Context, *redis.SentinelClient) bool) {
	s.tb.Helper()
	client := redis.NewSentinelClient(&redis.Options{Addr: s.addr,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
	defer client.Close()
	Eventually(s.tb, failoverWithin, what, func() bool {
		ctx, cancel := context.WithTimeout(s.tb.Context(), time.Second)
		defer cancel()
		return holds(ctx, client)
	})
}

// end is the clean-up of the test.
func (s *SentinelGroup) end() {
	if s.child == nil {
		return
	}
	if err := s.child.kill(); err != nil {
		s.tb.Errorf("end the sentinel: %v", err)
	}
	if s.tb.Failed() {
		s.tb.Logf("the sentinel wrote:\n%s", s.out.tail(30))
	}
}
