package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"backstop/breakerstore"
	"backstop/ledger"
	"backstop/monitor"
	"backstop/reconcile"
	"backstop/resilience"
	"backstop/tasks"
)

// A Replica is one worker: its gate, its chains, its server and its reconciler.
type Replica struct {
	Name string
	Gate *breakerstore.Gate

	server     *tasks.Server
	reconciler *reconcile.Reconciler
	close      func(context.Context) error
}

// ReplicaName tells this process from others on the same or other machines.
func ReplicaName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// NewReplica builds a worker on the open ledger and Redis.
func (a *App) NewReplica(name string, m *monitor.Metrics) (r *Replica, err error) {
	log := a.Log.With().Str("replica", name).Logger()
	gate, err := a.Gate(name, log, func(t resilience.Transition) { a.transition(log, name, m, t) })
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, gate.Shutdown(context.Background()))
		}
	}()
	answers, err := a.Cache(log, m.NotKept)
	if err != nil {
		return nil, err
	}
	caps, err := a.Credits(log, m.Capped)
	if err != nil {
		return nil, err
	}
	freeze := tasks.NewFreezeDetector(time.Now)
	with := shared{gate: freeze.Guard(gate), cache: answers}
	if caps != nil {
		with.credits = caps
	}
	enrich, fallback, err := a.chains(with)
	if err != nil {
		return nil, err
	}
	return &Replica{
		Name: name, Gate: gate, close: gate.Shutdown,
		server: tasks.NewServer(a.Redis, tasks.Deps{
			Ledger: a.Ledger, Queue: a.Queue, Chain: enrich, Fallback: fallback, Freeze: freeze,
			Log: log, Observer: m, Forget: answers.Forget,
		}, tasks.ServerConfig{Concurrency: a.Config.Worker.Concurrency, Grace: a.Config.Worker.Grace}),
		reconciler: reconcile.New(reconcile.Config{
			Ledger: a.Ledger, Queue: a.Queue, Want: enrich.Want, Log: log, Observer: m,
			Retention: reconcile.Retention(a.Config.Retention),
		}),
	}, nil
}

// Run works until ctx ends, then stops gracefully.
func (r *Replica) Run(ctx context.Context) error {
	var reconciling sync.WaitGroup
	reconciling.Go(func() { r.reconciler.Run(ctx) })
	err := r.server.Run(ctx)
	reconciling.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if closeErr := r.close(ctx); err == nil {
		err = closeErr
	}
	return err
}

// transition notes a change of a circuit, which the gate has logged: in the
// metrics by every replica, in the ledger by the one that made it.
func (a *App) transition(log zerolog.Logger, replica string, m *monitor.Metrics, t resilience.Transition) {
	m.Transition(t)
	if !t.Own {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := a.Ledger.RecordTransition(ctx, ledger.CircuitEvent{
		Provider: t.Provider, From: t.From.String(), To: t.To.String(), Reason: t.Reason, Replica: replica, At: t.At,
	})
	if err != nil {
		log.Warn().Err(err).Str("event", "ledger").Msg("a change of a circuit could not be recorded; reports will miss it")
	}
}
