// Package reconcile finds the leads that no task will bring to their outcome, and gives
// them one: those whose enqueue died half-way, that Redis forgot, whose worker died, or
// whose task ended without anybody settling. It also keeps the archives short and deletes
// what the retention no longer allows.
//
// One replica of the fleet acts at a time, by a lease; the others watch the tasks in work,
// so that they know what they need when it is their turn. All that is done is idempotent:
// two that act at the same time for a moment do no harm.
//
// Each step of a [Reconciler] does the following. An error in one part, or a single lead
// that cannot be read, does not keep the others from being done:
//
//	watch       which tasks are in work, and whose lease stands still   (rescue.go)
//	lease       only the holder goes on
//	rescue      tasks of dead workers go back to the queue               (rescue.go)
//	refill      an emptied Redis gets a task for each open lead          (sweep.go)
//	sweep       open leads that have no task get one, page by page       (sweep.go)
//	trim        old entries of the archives go                           (trim.go)
//	expire      what is older than the retention goes                    (retain.go)
package reconcile
