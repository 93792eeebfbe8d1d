package tasks

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed release.lua
var releaseSource string

//go:embed lease.lua
var leaseSource string

//go:embed unarchive.lua
var unarchiveSource string

var (
	releaseScript   = redis.NewScript(releaseSource)
	leaseScript     = redis.NewScript(leaseSource)
	unarchiveScript = redis.NewScript(unarchiveSource)
)

// An active task is one that a worker works on, or did when it was last heard of.
type active struct {
	queue, id string
	lease     string // the Unix second at which its lease ends, as Redis writes it; "" without one
}

// actives lists the tasks in work on both queues. asynq's workers renew the lease
// of each every five seconds.
func (q *Queue) actives(ctx context.Context) ([]active, error) {
	var all []active
	for _, queue := range []string{QueueEnrich, QueueFallback} {
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
			all = append(all, active{queue: queue, id: id, lease: ends[id]})
		}
	}
	return all, nil
}

// What becomes of a task that is taken from its worker.
const (
	releasePending  = "pending"
	releaseArchived = "archived"
	releaseDone     = "done"
)

// release takes a task from a worker that does not renew its lease. It reports
// false when the lease was renewed after all, or the task is not active any more.
func (q *Queue) release(ctx context.Context, a active, to string) (bool, error) {
	keys := []string{
		queueKey(a.queue, "active"), queueKey(a.queue, "lease"), queueKey(a.queue, "pending"),
		queueKey(a.queue, "archived"), taskKey(a.queue, a.id),
	}
	done, err := releaseScript.Run(ctx, q.rdb, keys, a.id, a.lease, to).Bool()
	if err != nil {
		return false, fmt.Errorf("take task %s from its worker: %w", a.id, err)
	}
	return done, nil
}

// hold takes or renews the fleet's one reconciler lease.
func (q *Queue) hold(ctx context.Context, token string, d time.Duration) (bool, error) {
	held, err := leaseScript.Run(ctx, q.rdb, []string{q.key("reconciler")}, token, d.Milliseconds()).Bool()
	if err != nil {
		return false, fmt.Errorf("hold the reconciler's lease: %w", err)
	}
	return held, nil
}

// sameRedis reports whether Redis still holds the mark that an earlier call left.
// If not, it was emptied (or never seen before), and the mark is set again.
func (q *Queue) sameRedis(ctx context.Context) (bool, error) {
	made, err := q.rdb.SetNX(ctx, q.key("epoch"), time.Now().UTC().Format(time.RFC3339Nano), 0).Result()
	if err != nil {
		return false, fmt.Errorf("look for the epoch key: %w", err)
	}
	return !made, nil
}

// key is one of our own keys; asynq's begin with "asynq:".
func (q *Queue) key(name string) string { return q.Prefix + ":tasks:" + name }

// archive is a page of a queue's archive, the oldest first, and its whole size.
func (q *Queue) archive(ctx context.Context, queue string, skip, n int64) (ids []string, size int64, err error) {
	size, err = q.rdb.ZCard(ctx, queueKey(queue, "archived")).Result()
	if err == nil && size > skip && n > 0 {
		ids, err = q.rdb.ZRange(ctx, queueKey(queue, "archived"), skip, skip+n-1).Result()
	}
	if err != nil {
		return nil, 0, fmt.Errorf("list the archive of %s: %w", queue, err)
	}
	return ids, size, nil
}

// unarchive removes tasks from a queue's archive.
func (q *Queue) unarchive(ctx context.Context, queue string, ids []string) (int, error) {
	args := []any{taskKey(queue, "")}
	for _, id := range ids {
		args = append(args, id)
	}
	n, err := unarchiveScript.Run(ctx, q.rdb, []string{queueKey(queue, "archived")}, args...).Int()
	if err != nil {
		return 0, fmt.Errorf("trim the archive of %s: %w", queue, err)
	}
	return n, nil
}
