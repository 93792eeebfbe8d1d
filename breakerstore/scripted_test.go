package breakerstore

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"
)

// scripted is the scripts on a Redis whose clock the test turns.
type scripted struct {
	t    rapid.TB
	mini *miniredis.Miniredis
	rdb  *redis.Client
	now  int64 // microseconds
}

func newScripted(t *testing.T) *scripted {
	s := &scripted{mini: miniredis.RunT(t)}
	s.rdb = redis.NewClient(&redis.Options{Addr: s.mini.Addr()})
	t.Cleanup(func() {
		if err := s.rdb.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// reset begins a new example.
func (s *scripted) reset(rt rapid.TB) {
	s.t, s.now = rt, time.Date(2031, 5, 6, 7, 8, 9, 123456000, time.UTC).UnixMicro()
	s.mini.FlushAll()
	s.set()
}

func (s *scripted) set() { s.mini.SetTime(time.UnixMicro(s.now)) }

func (s *scripted) advance(d time.Duration) {
	s.now += d.Microseconds()
	s.set()
}

func (s *scripted) run(script *redis.Script, p *provider, args ...any) []any {
	s.t.Helper()
	reply, err := script.Run(context.Background(), s.rdb, p.keys, p.args(args)...).Slice()
	if err != nil {
		s.t.Fatalf("script: %v", err)
	}
	return reply
}

func (s *scripted) circuit(reply []any) snapshot {
	s.t.Helper()
	c, err := snapshotOf(reply)
	if err != nil {
		s.t.Fatalf("reply %v: %v", reply, err)
	}
	return c
}
