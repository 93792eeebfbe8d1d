package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"github.com/sony/gobreaker/v2"

	"backstop/breakerstore"
	"backstop/lead"
	"backstop/resilience"
)

const provider = "provider"

// cooldown is how long a circuit stays open in the scenarios.
const cooldown = time.Second

// A breaker lets a call pass or refuses it. The call reports whether it was good.
type breaker interface {
	do(ctx context.Context, call func() bool) error
	end(ctx context.Context) error
}

const (
	nameNone      = "no gate"
	nameGate      = "breakerstore"
	nameGobreaker = "gobreaker distributed"
)

var breakerNames = []string{nameNone, nameGate, nameGobreaker}

// newBreaker makes the named breaker; changed is told of every change of state
// that this process made or saw.
func newBreaker(name string, rdb *redis.Client, changed func(to string)) (breaker, error) {
	switch name {
	case nameNone:
		return none{}, nil
	case nameGate:
		g, err := breakerstore.New(rdb, []resilience.GateConfig{{Provider: provider, Failures: threshold, Cooldown: cooldown}},
			breakerstore.Options{Logger: zerolog.Nop(), Hook: func(t resilience.Transition) { changed(t.To.String()) }})
		return gate{g}, err
	case nameGobreaker:
		settings := gobreaker.Settings{
			Name: provider, Timeout: cooldown, Interval: 120 * time.Second,
			ReadyToTrip:   func(c gobreaker.Counts) bool { return c.TotalFailures >= threshold },
			OnStateChange: func(_ string, _, to gobreaker.State) { changed(to.String()) },
		}
		for { // to make one takes the lock, which the others' calls may keep for long
			b, err := gobreaker.NewDistributedCircuitBreaker[struct{}](lockStore{rdb}, settings)
			if !errors.Is(err, errLocked) {
				return distributed{b}, err
			}
		}
	}
	return nil, fmt.Errorf("no breaker %q", name)
}

type none struct{}

func (none) do(_ context.Context, call func() bool) error {
	call()
	return nil
}

func (none) end(context.Context) error { return nil }

type gate struct{ *breakerstore.Gate }

func (g gate) do(ctx context.Context, call func() bool) error {
	permit, err := g.Acquire(ctx, provider)
	if err != nil {
		return err
	}
	r := resilience.Result{Class: lead.ClassTransient}
	defer func() { permit.Done(r) }()
	if call() {
		r.Class = lead.ClassOK
	}
	return nil
}

func (g gate) end(ctx context.Context) error { return g.Shutdown(ctx) }

type distributed struct {
	b *gobreaker.DistributedCircuitBreaker[struct{}]
}

var errBad = errors.New("bad call")

func (d distributed) do(_ context.Context, call func() bool) error {
	_, err := d.b.Execute(func() (struct{}, error) {
		if !call() {
			return struct{}{}, errBad
		}
		return struct{}{}, nil
	})
	if errors.Is(err, errBad) {
		return nil
	}
	return err
}

func (distributed) end(context.Context) error { return nil }

// A lockStore is the plainest correct gobreaker.SharedDataStore: a key that
// exists for as long as the lock is held, and a key for the data.
type lockStore struct{ rdb *redis.Client }

var errLocked = errors.New("locked by somebody else")

func (s lockStore) Lock(name string) error {
	got, err := s.rdb.SetNX(context.Background(), name, 1, 5*time.Second).Result()
	if err == nil && !got {
		err = errLocked
	}
	return err
}

func (s lockStore) Unlock(name string) error {
	return s.rdb.Del(context.Background(), name).Err()
}

func (s lockStore) GetData(name string) ([]byte, error) {
	data, err := s.rdb.Get(context.Background(), name).Bytes()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	return data, err
}

func (s lockStore) SetData(name string, data []byte) error {
	return s.rdb.Set(context.Background(), name, data, 0).Err()
}
