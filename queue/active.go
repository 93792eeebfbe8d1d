package queue

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

//go:embed release.lua
var releaseSource string

var releaseScript = redis.NewScript(releaseSource)

// An Active task is one that a worker works on, or did when it was last heard of.
type Active struct {
	Queue, ID string
	Lease     string // the Unix second at which its lease ends, as Redis writes it; "" without one
}

// Actives lists the tasks in work on both queues. asynq's workers renew the lease
// of each every five seconds.
func (q *Queue) Actives(ctx context.Context) ([]Active, error) {
	var all []Active
	for _, queue := range Names {
		var ids *redis.StringSliceCmd
		var leases *redis.ZSliceCmd
		_, err := q.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			ids = p.LRange(ctx, queueKey(queue, "active"), 0, -1)
			leases = p.ZRangeWithScores(ctx, queueKey(queue, "lease"), 0, -1)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list active tasks: %w", err)
		}
		ends := map[string]string{}
		for _, z := range leases.Val() {
			ends[z.Member.(string)] = strconv.FormatFloat(z.Score, 'f', -1, 64)
		}
		for _, id := range ids.Val() {
			all = append(all, Active{Queue: queue, ID: id, Lease: ends[id]})
		}
	}
	return all, nil
}

// A Fate is what becomes of a task that is taken from its worker.
type Fate string

// The fates.
const (
	ToPending Fate = "pending" // it goes to the head of the line
	ToArchive Fate = "archived"
	ToNowhere Fate = "done" // it is deleted
)

// Release takes a task from a worker that does not renew its lease. It reports
// false when the lease was renewed after all, or the task is not active any more.
func (q *Queue) Release(ctx context.Context, a Active, to Fate) (bool, error) {
	keys := []string{
		queueKey(a.Queue, "active"), queueKey(a.Queue, "lease"), queueKey(a.Queue, "pending"),
		queueKey(a.Queue, "archived"), taskKey(a.Queue, a.ID),
	}
	done, err := releaseScript.Run(ctx, q.rdb, keys, a.ID, a.Lease, string(to)).Bool()
	if err != nil {
		return false, fmt.Errorf("take task %s from its worker: %w", a.ID, err)
	}
	return done, nil
}
