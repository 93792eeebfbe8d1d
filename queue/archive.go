package queue

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

//go:embed unarchive.lua
var unarchiveSource string

var unarchiveScript = redis.NewScript(unarchiveSource)

// Archive is a page of a queue's archive, the oldest first, and its whole size.
func (q *Queue) Archive(ctx context.Context, queue string, skip, n int64) (ids []string, size int64, err error) {
	size, err = q.rdb.ZCard(ctx, queueKey(queue, "archived")).Result()
	if err == nil && size > skip && n > 0 {
		ids, err = q.rdb.ZRange(ctx, queueKey(queue, "archived"), skip, skip+n-1).Result()
	}
	if err != nil {
		return nil, 0, fmt.Errorf("list the archive of %s: %w", queue, err)
	}
	return ids, size, nil
}

// Unarchive removes tasks from a queue's archive.
func (q *Queue) Unarchive(ctx context.Context, queue string, ids []string) (int, error) {
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

// LastError is the error that a task of the queue enrich ended with last, as asynq keeps
// it; ok is false when there is no such task.
func (q *Queue) LastError(id string) (text string, ok bool, err error) {
	info, err := q.inspector.GetTaskInfo(QueueEnrich, id)
	switch {
	case err == nil:
		return info.LastErr, true, nil
	case isGone(err):
		return "", false, nil
	}
	return "", false, fmt.Errorf("look at task %s: %w", id, err)
}
