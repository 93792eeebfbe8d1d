// Package queue is asynq's layout on Redis, as far as Backstop relies on it: two queues,
// one for each type of task, with deterministic TaskIDs, so that a lead's run has at most
// one task of each type.
//
//	queue.go      put tasks on: Enrich, ArmFallback, RunFallback
//	payload.go    what a task carries, and its TaskID
//	states.go     look at the tasks of many runs
//	promote.go    due retries go to the head of the line
//	active.go     tasks in work, and taking one from a worker that is dead
//	archive.go    the dead-letter queue
//	remove.go     delete tasks in whichever state
//	reconciler.go the fleet's one lease, and the mark by which an emptied Redis is told
//
// Redis only moves leads; the ledger owns them. What is lost here is put back by package
// reconcile. The scripts in .lua files follow the layout of asynq v0.26.0, which tests hold
// against asynq's own inspector.
package queue
