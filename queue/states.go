package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"backstop/lead"
)

// States are the states of a lead's two tasks, "" where there is none.
type States struct{ Enrich, Fallback string }

// Live reports whether one of the tasks will run without anybody's help.
func (s States) Live() bool { return isLive(s.Enrich) || isLive(s.Fallback) }

// Archived reports whether the enrichment is in the dead-letter queue.
func (s States) Archived() bool { return s.Enrich == asynq.TaskStateArchived.String() }

func isLive(state string) bool {
	switch state {
	case "pending", "active", "scheduled", "retry", "aggregating":
		return true
	}
	return false
}

// States looks up the tasks of many leads in one round trip, in order. It reads
// asynq's task hashes directly, because its inspector takes a round trip for each
// task; a test holds the layout against the inspector.
func (q *Queue) States(ctx context.Context, runs []lead.Run) ([]States, error) {
	cmds := make([][2]*redis.StringCmd, len(runs))
	_, err := q.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, r := range runs {
			cmds[i][0] = p.HGet(ctx, taskKey(QueueEnrich, EnrichID(r.LeadID, r.Generation)), "state")
			cmds[i][1] = p.HGet(ctx, taskKey(QueueFallback, FallbackID(r.LeadID, r.Generation)), "state")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("look up tasks: %w", err)
	}
	states := make([]States, len(runs))
	for i, c := range cmds {
		for j, dst := range []*string{&states[i].Enrich, &states[i].Fallback} {
			s, err := c[j].Result()
			if err != nil && !errors.Is(err, redis.Nil) {
				return nil, fmt.Errorf("look up tasks: %w", err)
			}
			*dst = s
		}
	}
	return states, nil
}

func taskKey(queue, id string) string { return queueKey(queue, "t:"+id) }

// queueKey is one of asynq's keys for a queue.
func queueKey(queue, name string) string { return "asynq:{" + queue + "}:" + name }
