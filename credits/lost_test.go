package credits_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"backstop/credits"
	"backstop/testkit"
)

// The settlement that Redis was not told goes with the next call.
func TestWhatIsSettledWithoutRedisIsGivenBackLater(t *testing.T) {
	t.Parallel()
	server := testkit.RedisServer(t)
	proxy := testkit.NewProxy(t, server.Addr())
	b := &books{}
	r := newReplica(t, proxy.Addr(), b, 10, 0)
	calls := []interface {
		Commit(context.Context, float64)
	}{r.must(2), r.must(3), r.must(4)}
	proxy.Cut()
	for _, call := range calls {
		call.Commit(t.Context(), 1)
	}
	proxy.Restore()
	if got := counter(t, server.Client()); got != 9_000_000 {
		t.Fatalf("%d micro-credits are counted", got)
	}
	r.advance(credits.LookAgain)
	r.pay(7)
	if got := counter(t, server.Client()); got != 10_000_000 {
		t.Errorf("%d micro-credits are counted", got)
	}
}

// Redis reserved for a call, its reply got lost, and without it the call is refused.
func TestARefusedCallLeavesNoReservation(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, addr string) {
		proxy := testkit.NewProxy(t, addr)
		r := newReplica(t, proxy.Addr(), &books{}, 10, 0, timeout)
		r.pay(1) // the scripts are known
		proxy.DropReplies()
		r.full(4)
		if proxy.Dropped() == 0 {
			t.Fatal("no reply got lost")
		}
		if got := counter(t, client(t, addr)); got != 5_000_000 {
			t.Fatalf("%d micro-credits are counted", got)
		}
		if r.refused[api+" unknown"] != 1 {
			t.Errorf("Refused was told %v", r.refused)
		}
		proxy.Restore()
		r.advance(credits.LookAgain)
		r.pay(1)
		if got := counter(t, client(t, addr)); got != 2_000_000 {
			t.Errorf("%d micro-credits are counted", got)
		}
	})
}

// The client sends the script again when the connection breaks before the reply.
func TestAScriptThatIsSentAgainReservesOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, addr string) {
		proxy := testkit.NewProxy(t, addr)
		r := newReplica(t, proxy.Addr(), &books{}, 10, 0)
		r.pay(1)
		proxy.DropReplies()
		done := make(chan error)
		go func() {
			_, err := r.Reserve(context.Background(), api, 4)
			done <- err
		}()
		testkit.Eventually(t, 10*time.Second, "the reply is lost", func() bool { return proxy.Dropped() > 0 })
		proxy.Restore()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := counter(t, client(t, addr)); got != 5_000_000 {
			t.Errorf("%d micro-credits are counted", got)
		}
	})
}

func TestASettlementWhoseReplyIsLostCountsOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, addr string) {
		proxy := testkit.NewProxy(t, addr)
		r := newReplica(t, proxy.Addr(), &books{}, 10, 0, timeout)
		r.pay(1) // the scripts are known
		call := r.must(4)
		proxy.DropReplies()
		call.Commit(t.Context(), 1)
		if proxy.Dropped() == 0 {
			t.Fatal("no reply got lost")
		}
		proxy.Restore()
		r.advance(credits.LookAgain)
		r.pay(2)
		if got := counter(t, client(t, addr)); got != 4_000_000 {
			t.Errorf("%d micro-credits are counted", got)
		}
	})
}

// The caller goes away while Redis thinks: what it may have reserved is given back.
func TestACallerThatGoesAwayReservesNothing(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, addr string) {
		proxy := testkit.NewProxy(t, addr)
		r := newReplica(t, proxy.Addr(), &books{}, 10, 0)
		r.pay(1)
		proxy.DropReplies()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := r.Reserve(ctx, api, 9); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the error is %v", err)
		}
		if got := counter(t, client(t, addr)); got != 10_000_000 {
			t.Fatalf("%d micro-credits are counted", got)
		}
		proxy.Restore()
		r.pay(9)
		if _, err := r.Reserve(ctx, api, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error of one who is gone from the beginning is %v", err)
		}
	})
}
