package credits_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"backstop/chain"
	"backstop/credits"
)

// A modelCall is a call of the model, from its reservation to the ledger.
type modelCall struct {
	chain.Reservation
	price, cost int64 // in thousandths
	settled     bool
	at          time.Time // when it was settled
}

// A model knows what truly happened, which Redis may have lost. All within a day;
// amounts are thousandths of a credit.
type model struct {
	rdb      *redis.Client
	clock    *clock
	replicas []*credits.Store
	books    *books
	cap      int64

	calls  []*modelCall // not in the ledger yet
	taken  int64        // what was ever reserved
	spent  int64        // in the ledger
	lost   int64        // what Redis may count less than the truth
	excess int64        // what it may count beyond: the calls of the dead
	copies []modelCopy

	server *miniredis.Miniredis // nil: it is always there
	away   bool
}

// A modelCopy is what Redis had at some time.
type modelCopy struct {
	data        copied
	under       []*modelCall // had their whole price set aside
	taken, lost int64
}

func milli(n int64) float64 { return float64(n) / 1000 }

// truth is what is spent and under way.
func (m *model) truth() int64 {
	sum := m.spent
	for _, c := range m.calls {
		if c.settled {
			sum += c.cost
		} else {
			sum += c.price
		}
	}
	return sum
}

func (m *model) reserve(t *rapid.T) {
	s := m.replicas[rapid.IntRange(0, len(m.replicas)-1).Draw(t, "replica")]
	price := rapid.Int64Range(1, 3000).Draw(t, "price")
	call, err := s.Reserve(context.Background(), api, milli(price))
	var full *chain.CapReached
	switch {
	case err == nil:
		m.calls = append(m.calls, &modelCall{Reservation: call, price: price})
		m.taken += price
		lost := m.lost
		if m.away {
			lost = 0 // what the one process does itself it knows
		}
		if got := m.truth(); got > m.cap+lost {
			t.Fatalf("%d is spent and under way; the cap is %d, and %d may be lost", got, m.cap, lost)
		}
	case !errors.As(err, &full):
		t.Fatalf("Reserve: %v", err)
	case !m.away && m.truth()+m.excess+price <= m.cap:
		t.Fatalf("%d is refused with %d spent and under way and %d in excess; the cap is %d", price, m.truth(), m.excess, m.cap)
	}
}

// pick draws a call that is settled, or is not.
func (m *model) pick(t *rapid.T, settled bool) *modelCall {
	var some []*modelCall
	for _, c := range m.calls {
		if c.settled == settled {
			some = append(some, c)
		}
	}
	if len(some) == 0 {
		t.Skip("there is none")
	}
	return some[rapid.IntRange(0, len(some)-1).Draw(t, "call")]
}

func (m *model) remove(call *modelCall) {
	for i, c := range m.calls {
		if c == call {
			m.calls = append(m.calls[:i], m.calls[i+1:]...)
			return
		}
	}
}

func (m *model) settle(t *rapid.T) {
	c := m.pick(t, false)
	c.cost = rapid.SampledFrom([]int64{0, c.price, c.price / 2}).Draw(t, "cost")
	c.settled, c.at = true, m.clock.now()
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		c.Commit(context.Background(), milli(c.cost))
	}
}

func (m *model) record(t *rapid.T) {
	c := m.pick(t, true)
	m.write(c)
}

func (m *model) write(c *modelCall) {
	m.remove(c)
	m.spent += c.cost
	m.books.record(api, m.clock.now(), milli(c.cost))
}

// die ends the process of a call that is under way.
func (m *model) die(t *rapid.T) {
	c := m.pick(t, false)
	m.remove(c)
	m.excess += c.price
}

func (m *model) flush(t *rapid.T) {
	flush(bridge{t: t}, m.rdb)
	m.lost = m.truth() - m.spent // the calls under way
	m.excess, m.copies = 0, nil
}

func (m *model) copy(t *rapid.T) {
	c := modelCopy{data: snapshot(bridge{t: t}, m.rdb), taken: m.taken, lost: m.lost}
	for _, call := range m.calls {
		if !call.settled {
			c.under = append(c.under, call)
		}
	}
	m.copies = append(m.copies, c)
}

// failOver brings an older copy back, which lacks what was reserved since and does
// not know what was given back.
func (m *model) failOver(t *rapid.T) {
	if len(m.copies) == 0 {
		t.Skip("there is none")
	}
	c := rapid.SampledFrom(m.copies).Draw(t, "copy")
	c.data.restore(bridge{t: t}, m.rdb)
	m.lost = c.lost + m.taken - c.taken
	for _, call := range c.under {
		if call.settled {
			m.excess += call.price - call.cost
		}
	}
}

// unwritten is the longest time from a call's commit to the ledger.
const unwritten = 30 * time.Second

func (m *model) wait(t *rapid.T) {
	m.clock.advance(time.Duration(rapid.IntRange(1, 12).Draw(t, "seconds")) * time.Second)
	for _, c := range slices.Clone(m.calls) {
		if c.settled && m.clock.now().Sub(c.at) > unwritten {
			m.write(c) // when it was due
		}
	}
}

// switchRedis makes Redis go or come back. When it is back it lacks what is under
// way.
func (m *model) switchRedis(*rapid.T) {
	m.away = !m.away
	if m.away {
		m.server.SetError("ERR gone")
		return
	}
	m.server.SetError("")
	m.clock.advance(credits.LookAgain)
	m.lost = max(m.lost, m.truth()-m.spent)
}

// rest lets everything be written down, after which nothing is lost any more.
func (m *model) rest(t *rapid.T) {
	if m.away {
		t.Skip("Redis is away")
	}
	for len(m.calls) > 0 {
		c := m.calls[0]
		if !c.settled {
			c.settled, c.cost = true, c.price
			c.Commit(context.Background(), milli(c.cost))
		}
		m.write(c)
	}
	m.clock.advance(credits.Every)
	m.lost = 0
	for _, s := range m.replicas {
		if call, err := s.Reserve(context.Background(), api, 1e-6); err == nil { // it reads the ledger, and tells what it owes
			call.Commit(context.Background(), 0)
		}
	}
	all, err := m.replicas[0].Usage(context.Background())
	if err != nil {
		t.Fatalf("Usage: %v", err)
	}
	if used := credits.Micros(all[0].Used) / 1000; used < m.spent || used > m.spent+m.excess {
		t.Fatalf("%d is used; %d was spent, and %d may be in excess", used, m.spent, m.excess)
	}
}

// A bridge is a step of the model for the harness, of which it needs little.
type bridge struct {
	testing.TB
	t *rapid.T
}

func (bridge) Helper()                  {}
func (bridge) Context() context.Context { return context.Background() }
func (b bridge) Fatal(args ...any)      { b.t.Fatal(args...) }

func newModel(t *rapid.T, rdb *redis.Client, replicas int) *model {
	flush(bridge{t: t}, rdb)
	m := &model{rdb: rdb, clock: &clock{at: noon}, books: &books{}, cap: rapid.Int64Range(1, 20_000).Draw(t, "cap")}
	for range replicas {
		s, err := credits.New(rdb, credits.Options{
			Caps: map[string]credits.Caps{api: {Day: milli(m.cap), Month: milli(2 * m.cap)}}, Spent: m.books.Spent,
			Now: m.clock.now, Timeout: 6 * time.Second, Logger: zerolog.Nop(),
		})
		if err != nil {
			t.Fatal(err)
		}
		m.replicas = append(m.replicas, s)
	}
	return m
}

func TestSpendingAgainstTheModel(t *testing.T) {
	everywhere(t, func(t *testing.T, addr string) {
		rdb := client(t, addr)
		rapid.Check(t, func(rt *rapid.T) {
			m := newModel(rt, rdb, 2)
			rt.Repeat(map[string]func(*rapid.T){
				"reserve": m.reserve, "reserve more": m.reserve, "settle": m.settle, "record": m.record, "die": m.die,
				"flush": m.flush, "copy": m.copy, "fail over": m.failOver, "wait": m.wait, "rest": m.rest,
			})
		})
	})
}

// One process whose Redis goes and comes: without it nothing is spent.
func TestSpendingWithoutRedisAgainstTheModel(t *testing.T) {
	server := miniredis.RunT(t)
	rdb := client(t, server.Addr())
	rapid.Check(t, func(rt *rapid.T) {
		server.SetError("")
		m := newModel(rt, rdb, 1)
		m.server = server
		rt.Repeat(map[string]func(*rapid.T){
			"reserve": m.reserve, "reserve more": m.reserve, "settle": m.settle, "record": m.record,
			"switch Redis": m.switchRedis, "wait": m.wait, "rest": m.rest,
		})
	})
}
