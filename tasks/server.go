package tasks

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"backstop/queue"
)

// ServerConfig sizes a [Server].
type ServerConfig struct {
	Concurrency int           // leads worked on at once
	Grace       time.Duration // how long a stop waits for the calls under way
}

// A Server is one replica of the worker.
//
//	Start ──> running ──(ctx of Run ends)──> stopping ──(handlers return, at most Grace)──> stopped
//	                                             tasks that did not return are put back
type Server struct {
	enrich, fallback *asynq.Server
	handlers         *handlers
}

// Intervals at which asynq looks for work. With its defaults of 1 s and 5 s the
// schedule of 1, 2, 4 s would take 11 to 16 s.
const (
	taskCheckInterval    = 100 * time.Millisecond
	fallbackForwardEvery = 200 * time.Millisecond
	enrichForwardEvery   = 2 * time.Second // only stands in for [queue.Queue.Promote]
	fallbackConcurrency  = 8
)

// NewServer prepares a replica that works on the queues of rdb, which stays the
// caller's to close.
func NewServer(rdb redis.UniversalClient, d Deps, c ServerConfig) *Server {
	h := newHandlers(d)
	// A server for each queue: asynq fetches one task at a time for each server, and
	// a fallback must not wait for a slot behind a backlog of enrichments.
	config := func(name string, concurrency int, forwardEvery time.Duration) asynq.Config {
		return asynq.Config{
			Concurrency:              concurrency,
			Queues:                   map[string]int{name: 1},
			TaskCheckInterval:        taskCheckInterval,
			DelayedTaskCheckInterval: forwardEvery,
			RetryDelayFunc:           retryDelay(h.Now),
			IsFailure:                isFailure,
			ShutdownTimeout:          c.Grace,
			Logger:                   asynqLog{h.Log},
			LogLevel:                 asynq.WarnLevel,
		}
	}
	return &Server{
		enrich:   asynq.NewServerFromRedisClient(rdb, config(queue.QueueEnrich, c.Concurrency, enrichForwardEvery)),
		fallback: asynq.NewServerFromRedisClient(rdb, config(queue.QueueFallback, fallbackConcurrency, fallbackForwardEvery)),
		handlers: h,
	}
}

// Run works until ctx ends and then stops: no new task is taken, the calls under
// way are given the grace period, and what is not done then is put back.
func (s *Server) Run(ctx context.Context) error {
	if err := s.enrich.Start(asynq.HandlerFunc(s.handlers.guarded(s.handlers.enrich))); err != nil {
		return fmt.Errorf("start the enrich server: %w", err)
	}
	if err := s.fallback.Start(asynq.HandlerFunc(s.handlers.guarded(s.handlers.fallback))); err != nil {
		s.enrich.Shutdown()
		return fmt.Errorf("start the fallback server: %w", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.handlers.Freeze.beating(ctx) })
	wg.Go(func() { s.handlers.Queue.KeepPromoting(ctx, s.handlers.Log) })
	<-ctx.Done()
	wg.Go(s.enrich.Shutdown)
	wg.Go(s.fallback.Shutdown)
	wg.Wait()
	return nil
}

// asynqLog writes asynq's own messages.
type asynqLog struct{ log zerolog.Logger }

func (l asynqLog) write(level zerolog.Level, args []any) {
	l.log.WithLevel(level).Str("event", "asynq").Msg(fmt.Sprint(args...))
}

func (l asynqLog) Debug(args ...any) { l.write(zerolog.DebugLevel, args) }
func (l asynqLog) Info(args ...any)  { l.write(zerolog.InfoLevel, args) }

// Warn takes out one message that asynq writes for every archived lead, whose way
// there has been logged already.
func (l asynqLog) Warn(args ...any) {
	if strings.HasPrefix(fmt.Sprint(args...), "Retry exhausted") {
		l.write(zerolog.DebugLevel, args)
		return
	}
	l.write(zerolog.WarnLevel, args)
}
func (l asynqLog) Error(args ...any) { l.write(zerolog.ErrorLevel, args) }

// Fatal is what asynq calls before it ends the process itself.
func (l asynqLog) Fatal(args ...any) { l.write(zerolog.FatalLevel, args) }
