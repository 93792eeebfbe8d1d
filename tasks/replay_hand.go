package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hibiken/asynq"

	"backstop/lead"
	"backstop/ledger"
)

// replayUnstarted is the error under which a task goes back whose replay by hand
// could not be started; it is still one when it comes again.
const replayUnstarted = "the replay could not be started"

// replayByHand replays a lead whose archived task an operator runs once more, as
// asynqmon lets them. The task is one of a lead that is settled; most often that
// means that its acknowledgement was lost, and nothing must be called again.
//
// The two are told apart by the error in the stored message. asynq's archive script
// (internal/rdb, archiveCmd) writes the handler's error into it, here one that ends
// with [asynq.SkipRetry], and running an archived task leaves the message as it is
// (runTaskCmd). A task that comes back because its acknowledgement was lost has the
// recoverer's error, or that of its last retry. What somebody archived by hand
// before it had ended keeps its message and is therefore not recognized.
func (h *handlers) replayByHand(ctx context.Context, _ *asynq.Task, rec ledger.Record, p Payload) (replayed bool, err error) {
	if rec.Status != lead.StatusPartial || p.Generation != rec.Generation || p.Generation != rec.SettledGeneration {
		return false, nil
	}
	id, ok := asynq.GetTaskID(ctx)
	if !ok {
		id = EnrichID(p.LeadID, p.Generation)
	}
	info, err := h.Queue.inspector.GetTaskInfo(QueueEnrich, id)
	if errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound) {
		return false, nil // Redis lost it while it ran
	}
	if err != nil {
		return false, fmt.Errorf("look at the task of lead %s: %w", p.LeadID, err)
	}
	if !wasArchived(info.LastErr) {
		return false, nil
	}
	n, err := Replayer{Ledger: h.Ledger, Queue: h.Queue, Log: h.Log}.begin(ctx, []ledger.Record{rec})
	return n == 1, err
}

// wasArchived reports whether a task's last error is that of an archived one.
func wasArchived(lastErr string) bool {
	return strings.HasSuffix(lastErr, asynq.SkipRetry.Error()) || lastErr == replayUnstarted
}
