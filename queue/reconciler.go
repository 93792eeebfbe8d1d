package queue

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lease.lua
var leaseSource string

var leaseScript = redis.NewScript(leaseSource)

// AcquireLease takes or renews the fleet's one reconciler lease for d.
func (q *Queue) AcquireLease(ctx context.Context, token string, d time.Duration) (bool, error) {
	held, err := leaseScript.Run(ctx, q.rdb, []string{q.key("reconciler")}, token, d.Milliseconds()).Bool()
	if err != nil {
		return false, fmt.Errorf("acquire the reconciler's lease: %w", err)
	}
	return held, nil
}

// Epoch is what the last [Queue.SetEpoch] left in Redis, "" if Redis is new or was
// emptied since.
func (q *Queue) Epoch(ctx context.Context) (string, error) {
	epoch, err := q.rdb.Get(ctx, q.key("epoch")).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("look for the epoch key: %w", err)
	}
	return epoch, nil
}

// SetEpoch leaves a mark in Redis that goes with its data.
func (q *Queue) SetEpoch(ctx context.Context, epoch string) error {
	if err := q.rdb.Set(ctx, q.key("epoch"), epoch, 0).Err(); err != nil {
		return fmt.Errorf("set the epoch key: %w", err)
	}
	return nil
}

// key is one of our own keys; asynq's begin with "asynq:".
func (q *Queue) key(name string) string { return q.prefix + ":tasks:" + name }
