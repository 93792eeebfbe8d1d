package queue_test

import (
	"backstop/providers/sandbox"
	"backstop/queue"
	"backstop/testkit"
	"backstop/testkit/replicas"
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

func TestLostReplyToAnEnqueueIsNoError(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	proxy := testkit.NewProxy(t, f.Redis.Addr())
	rdb := redis.NewClient(&redis.Options{
		Addr: proxy.Addr(), ReadTimeout: 300 * time.Millisecond,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer func() { testkit.NoError(t, rdb.Close()) }()
	q := queue.New(rdb, "backstop")
	accepted, err := f.Ledger.Accept(t.Context(), replicas.Leads(t, "ann.lee@acme.example", "bo.ray@umbra.example"))
	testkit.NoError(t, err)
	// The first fills the connection and asynq's cache of queues.
	if existed, err := q.Enrich(t.Context(), replicas.PayloadOf(accepted[0])); err != nil || existed {
		t.Fatalf("Enrich: existed %t, %v", existed, err)
	}
	proxy.DropReplies()
	type reply struct {
		existed bool
		err     error
	}
	said := make(chan reply, 1)
	go func() {
		existed, err := q.Enrich(context.Background(), replicas.PayloadOf(accepted[1]))
		said <- reply{existed, err}
	}()
	testkit.Eventually(t, replicas.Soon, "Redis has answered", func() bool { return proxy.Dropped() > 0 })
	proxy.Restore()
	if got := <-said; got.err != nil || !got.existed {
		t.Errorf("Enrich: existed %t, %v; want that it was there", got.existed, got.err)
	}
	testkit.Equal(t, "states", f.States(accepted[1]), queue.States{Enrich: "pending"})
}

func TestFallbackRunsFromEveryState(t *testing.T) {
	t.Parallel()
	f := newFleet(t, sandbox.Script{})
	for i, test := range []struct {
		name    string
		prepare func(queue.Payload) error
	}{
		{"none", func(queue.Payload) error { return nil }},
		{"pending", func(p queue.Payload) error { return f.Queue.RunFallback(t.Context(), p) }},
		{"scheduled", func(p queue.Payload) error {
			_, err := f.Queue.ArmFallback(t.Context(), p, time.Now().Add(time.Hour))
			return err
		}},
		{"archived", func(p queue.Payload) error {
			if err := f.Queue.RunFallback(t.Context(), p); err != nil {
				return err
			}
			return f.Inspector.ArchiveTask(queue.QueueFallback, queue.FallbackID(p.LeadID, p.Generation))
		}},
		{"archived by hand and trimmed from the archive", func(p queue.Payload) error {
			id := queue.FallbackID(p.LeadID, p.Generation)
			if err := f.Queue.RunFallback(t.Context(), p); err != nil {
				return err
			}
			if err := f.Inspector.ArchiveTask(queue.QueueFallback, id); err != nil {
				return err
			}
			return f.RDB.ZRem(t.Context(), "asynq:{fallback}:archived", id).Err()
		}},
	} {
		a := f.Put(replicas.Emails(i + 1)[i])[0]
		testkit.NoError(t, test.prepare(replicas.PayloadOf(a)))
		if err := f.Queue.RunFallback(t.Context(), replicas.PayloadOf(a)); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if got := f.States(a).Fallback; got != "pending" {
			t.Errorf("%s: the fallback is %q, want it pending", test.name, got)
		}
	}
}
