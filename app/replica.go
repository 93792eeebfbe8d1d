package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"

	"backstop/ledger"
	"backstop/monitor"
	"backstop/resilience"
	"backstop/tasks"
)

// A Replica is one worker: its gate, its chains and its server.
type Replica struct {
	Name string
	Gate resilience.Gate

	server *tasks.Server
	close  func(context.Context) error
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
func (a *App) NewReplica(name string, m *monitor.Metrics) (*Replica, error) {
	log := a.Log.With().Str("replica", name).Logger()
	gate, err := a.Gate(name, log, func(t resilience.Transition) { a.transition(log, name, m, t) })
	if err != nil {
		return nil, err
	}
	enrich, fallback, err := a.Chains(gate)
	if err != nil {
		return nil, errors.Join(err, gate.Shutdown(context.Background()))
	}
	store, err := a.Answers(log, m.NotKept)
	if err != nil {
		return nil, errors.Join(err, gate.Shutdown(context.Background()))
	}
	enrich.Answers, fallback.Answers = store, store
	spending, err := a.Credits(log, m.Capped)
	if err != nil {
		return nil, errors.Join(err, gate.Shutdown(context.Background()))
	}
	if spending != nil {
		enrich.Credits, fallback.Credits = spending, spending
	}
	enrich.IsSuppressed, fallback.IsSuppressed = a.Ledger.IsSuppressed, a.Ledger.IsSuppressed
	server := tasks.NewServer(a.Redis, tasks.Deps{
		Ledger: a.Ledger, Queue: a.Queue, Chain: enrich, Fallback: fallback, Log: log, Observer: m,
		ForgetAnswers: store.Forget, Retention: tasks.Retention(a.Config.Retention),
	}, tasks.ServerConfig{Concurrency: a.Config.Worker.Concurrency, Grace: a.Config.Worker.Grace})
	return &Replica{Name: name, Gate: gate, server: server, close: gate.Shutdown}, nil
}

// Run works until ctx ends, then stops gracefully.
func (r *Replica) Run(ctx context.Context) error {
	err := r.server.Run(ctx)
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
