package tasks

import (
	"context"
	"strings"

	"github.com/hibiken/asynq"

	"backstop/lead"
	"backstop/ledger"
	"backstop/queue"
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
func (h *handlers) replayByHand(ctx context.Context, rec ledger.Record, p queue.Payload) (replayed bool, err error) {
	if rec.Status != lead.StatusPartial || p.Generation != rec.Generation || p.Generation != rec.SettledGeneration {
		return false, nil
	}
	id, ok := asynq.GetTaskID(ctx)
	if !ok {
		id = queue.EnrichID(p.LeadID, p.Generation)
	}
	lastErr, ok, err := h.Queue.LastError(id)
	if err != nil || !ok || !wasArchived(lastErr) { // not there: Redis lost it while it ran
		return false, err
	}
	n, err := h.replays.Again(ctx, []ledger.Record{rec})
	return n == 1, err
}

// wasArchived reports whether a task's last error is that of an archived one.
func wasArchived(lastErr string) bool {
	return strings.HasSuffix(lastErr, asynq.SkipRetry.Error()) || lastErr == replayUnstarted
}
