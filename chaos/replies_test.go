package chaos

import (
	"fmt"
	"testing"
	"time"

	"backstop/intake"
	"backstop/testkit"
	"backstop/testkit/fleet"
)

// Redis has done what it was asked, and nobody knows: a task taken off the queue
// by nobody, a task put there that "failed".
func TestLostRepliesLoseNothing(t *testing.T) {
	play(t, scenario{
		Name: "lost replies to enqueue and dequeue", Seed: 90, Faults: size(55, 5), Leads: size(1000, 200), Replicas: 2,
		Script: slow, Proxied: []target{toRedis},
		Inject: func(r *run) {
			for i := 0; r.more(); i++ {
				if i%2 == 0 && r.faults < r.spec.Faults {
					r.loseEnqueued(fmt.Sprintf("E%03d", i), 50)
					continue
				}
				r.pause(100*time.Millisecond, 500*time.Millisecond)
				before := r.settled()
				r.loseReplies(r.proxies[toRedis])
				r.struck(r.spec.Replicas, before)
			}
		},
	})
}

// loseReplies throws away what Redis answers for a moment, at least one reply.
func (r *run) loseReplies(p *testkit.Proxy) {
	r.t.Helper()
	had := p.Dropped()
	p.DropReplies()
	testkit.Eventually(r.t, 10*time.Second, "a reply is lost", func() bool { return p.Dropped() > had })
	r.pause(0, 200*time.Millisecond)
	p.Restore()
}

// loseEnqueued enqueues n leads and loses replies while it puts them on the queue.
func (r *run) loseEnqueued(prefix string, n int) {
	r.t.Helper()
	proxy := testkit.NewProxy(r.t, r.Redis.Addr())
	file := r.Write(prefix+".csv", r.csv(prefix, n))
	had, lost := r.inLedger(), proxy.Dropped()
	p := testkit.Start(r.t, testkit.Command{Package: fleet.Enqueue, Args: []string{"file", file, "--json"}, Dir: r.Dir,
		Env: append(r.Env[:len(r.Env):len(r.Env)], "BACKSTOP_REDIS__URL=redis://"+proxy.Addr()+"/0")})
	testkit.Eventually(r.t, time.Minute, "the leads are in the ledger", func() bool { return r.inLedger() > had })
	proxy.DropReplies()
	r.pause(50*time.Millisecond, 300*time.Millisecond)
	proxy.Restore()
	if code := p.Wait(time.Minute); code != 0 {
		r.t.Errorf("enqueue ended with %d: %s", code, p.Stderr())
		return
	}
	sum := fleet.Decode[intake.Summary](r.t, p.Stdout())
	r.accepted += int(sum.Accepted)
	if sum.Accepted != int64(n) {
		r.t.Errorf("enqueue accepted %+v", sum)
	}
	if proxy.Dropped() > lost {
		r.faults++
	}
}
