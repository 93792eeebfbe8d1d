// Package tasks moves leads with asynq: the task types, their payloads and
// handlers, the schedule of retries, the server and the reconciler.
//
// Redis only moves leads; the ledger owns them. From this follow the rules that
// every handler here keeps:
//
//   - The ledger is read before anything else. A lead that is settled already is
//     not worked on, so that a task may run any number of times.
//   - What must survive is in the ledger before the handler returns, because
//     asynq's acknowledgement may be lost.
//   - A lead's retries are counted in its progress, not by asynq, whose own
//     limit is only headroom.
//   - lead:fallback never gives up. It is scheduled by the first failed call, so
//     that it comes even if everything else about the lead is lost.
package tasks
