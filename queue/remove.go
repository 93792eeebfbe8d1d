package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"backstop/clock"
	"backstop/lead"
)

// Drop removes a task that is not needed any more, if it is there. One that cannot be
// removed finds its lead settled and does nothing.
func (q *Queue) Drop(queue, id string) error {
	if err := q.inspector.DeleteTask(queue, id); err != nil && !isGone(err) {
		return fmt.Errorf("remove task %s: %w", id, err)
	}
	return nil
}

// isGone reports whether the inspector's error says that there is no such task.
func isGone(err error) bool {
	return errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound)
}

// Remove deletes the tasks of one run of a lead, in whichever state they are but
// active. Active ones are counted and, with stop, asked to stop.
func (q *Queue) Remove(ctx context.Context, run lead.Run, stop bool) (removed, active int, err error) {
	for queue, id := range map[string]string{
		QueueEnrich: EnrichID(run.LeadID, run.Generation), QueueFallback: FallbackID(run.LeadID, run.Generation),
	} {
		was, err := q.removeTask(ctx, queue, id)
		if err == nil && was == asynq.TaskStateActive && stop {
			err = q.inspector.CancelProcessing(id)
		}
		switch {
		case err != nil:
			return removed, active, fmt.Errorf("remove a task of lead %s: %w", run.LeadID, err)
		case was == asynq.TaskStateActive:
			active++
		case was != 0:
			removed++
		}
	}
	return removed, active, nil
}

// RemoveRuns deletes the tasks of all runs of a lead but those that a worker is at.
func (q *Queue) RemoveRuns(ctx context.Context, leadID string, generations int) error {
	for g := 1; g <= generations; g++ {
		if _, _, err := q.Remove(ctx, lead.Run{LeadID: leadID, Generation: g}, false); err != nil {
			return err
		}
	}
	return nil
}

// removeTask deletes a task and returns the state in which it was, 0 for none. It
// looks again when the task went on to another state meanwhile.
func (q *Queue) removeTask(ctx context.Context, queue, id string) (was asynq.TaskState, err error) {
	for range 5 {
		info, err := q.inspector.GetTaskInfo(queue, id)
		if isGone(err) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if info.State == asynq.TaskStateActive {
			return info.State, nil
		}
		err = q.inspector.DeleteTask(queue, id)
		if err == nil || errors.Is(err, asynq.ErrTaskNotFound) || q.dropOrphan(ctx, queue, id) {
			return info.State, nil
		}
		if err := clock.Sleep(ctx, lookAgain); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("its task comes and goes")
}

// lookAgain is how long Remove waits for a task that went on to another state.
const lookAgain = 100 * time.Millisecond

// dropOrphan removes a task that says it is archived and is not in the archive,
// and reports whether it was one. asynq leaves such tasks when it trims an archive
// that was filled by hand; it can neither run nor delete them, and they hold
// their TaskID.
func (q *Queue) dropOrphan(ctx context.Context, queue, id string) bool {
	err := q.rdb.ZScore(ctx, queueKey(queue, "archived"), id).Err()
	return errors.Is(err, redis.Nil) && q.rdb.Del(ctx, taskKey(queue, id)).Err() == nil
}
