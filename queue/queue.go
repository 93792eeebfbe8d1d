package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// Options of the tasks. MaxRetry is headroom for crashes and snoozes: how often
// a lead is retried is decided in the ledger.
const (
	enrichMaxRetry   = 100
	fallbackMaxRetry = 1 << 20 // never gives up
	enrichTimeout    = 2 * time.Minute
	fallbackTimeout  = 2 * time.Minute
)

// A Queue puts tasks on Redis. Every task has a deterministic TaskID, so that
// enqueueing one that is there already changes nothing.
type Queue struct {
	prefix    string // of the keys that are not asynq's
	rdb       redis.UniversalClient
	client    *asynq.Client
	inspector *asynq.Inspector
}

// New uses rdb, which stays the caller's to close. prefix begins the keys that are not
// asynq's.
func New(rdb redis.UniversalClient, prefix string) *Queue {
	return &Queue{
		prefix:    prefix,
		rdb:       rdb,
		client:    asynq.NewClientFromRedisClient(rdb),
		inspector: asynq.NewInspectorFromRedisClient(rdb),
	}
}

// Enrich puts a lead's enrichment on the queue. existed reports that a task of
// this run was there already, in whichever state.
func (q *Queue) Enrich(ctx context.Context, p Payload) (existed bool, err error) {
	return q.enqueue(ctx, TypeEnrich, p,
		asynq.TaskID(EnrichID(p.LeadID, p.Generation)), asynq.Queue(QueueEnrich),
		asynq.MaxRetry(enrichMaxRetry), asynq.Timeout(enrichTimeout))
}

// ArmFallback schedules a lead's fallback for the end of its budget.
func (q *Queue) ArmFallback(ctx context.Context, p Payload, at time.Time) (existed bool, err error) {
	return q.fallback(ctx, p, asynq.ProcessAt(nextSecond(at)))
}

// RunFallback makes a lead's fallback run now, whether it was scheduled or not.
func (q *Queue) RunFallback(ctx context.Context, p Payload) error {
	id := FallbackID(p.LeadID, p.Generation)
	// Twice, because a task that is there may have ended when it is looked at.
	for range 2 {
		existed, err := q.fallback(ctx, p)
		if err != nil || !existed {
			return err
		}
		info, err := q.inspector.GetTaskInfo(QueueFallback, id)
		switch {
		case errors.Is(err, asynq.ErrTaskNotFound):
			continue
		case err != nil:
			return fmt.Errorf("look at the fallback of lead %s: %w", p.LeadID, err)
		case info.State == asynq.TaskStatePending || info.State == asynq.TaskStateActive:
			return nil
		}
		err = q.inspector.RunTask(QueueFallback, id)
		if err == nil {
			return nil
		}
		if info, again := q.inspector.GetTaskInfo(QueueFallback, id); again == nil &&
			(info.State == asynq.TaskStatePending || info.State == asynq.TaskStateActive) {
			return nil // somebody else was faster
		}
		if info.State == asynq.TaskStateArchived && q.dropOrphan(ctx, QueueFallback, id) {
			continue
		}
		if !errors.Is(err, asynq.ErrTaskNotFound) {
			return fmt.Errorf("run the fallback of lead %s: %w", p.LeadID, err)
		}
	}
	return fmt.Errorf("run the fallback of lead %s: its task comes and goes", p.LeadID)
}

func (q *Queue) fallback(ctx context.Context, p Payload, opts ...asynq.Option) (existed bool, err error) {
	return q.enqueue(ctx, TypeFallback, p, append(opts,
		asynq.TaskID(FallbackID(p.LeadID, p.Generation)), asynq.Queue(QueueFallback),
		asynq.MaxRetry(fallbackMaxRetry), asynq.Timeout(fallbackTimeout))...)
}

// enqueue treats a conflict of TaskIDs as success: the task is there. It also is
// when the reply to an earlier attempt was lost.
func (q *Queue) enqueue(ctx context.Context, typ string, p Payload, opts ...asynq.Option) (existed bool, err error) {
	b, err := p.Encode()
	if err != nil {
		return false, err
	}
	_, err = q.client.EnqueueContext(ctx, asynq.NewTask(typ, b), opts...)
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("enqueue %s of lead %s: %w", typ, p.LeadID, err)
	}
	return false, nil
}

// Register makes the queues known to asynq's inspector again. A client does that
// once in its life, which a flushed Redis forgets.
func (q *Queue) Register(ctx context.Context) error {
	if err := q.rdb.SAdd(ctx, "asynq:queues", QueueEnrich, QueueFallback).Err(); err != nil {
		return fmt.Errorf("register the queues: %w", err)
	}
	return nil
}

// nextSecond is the first whole second that is not before t, for tasks that must
// not run early and have nobody waiting in them.
func nextSecond(t time.Time) time.Time {
	s := t.Truncate(time.Second)
	if s.Before(t) {
		s = s.Add(time.Second)
	}
	return s
}
