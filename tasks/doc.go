// Package tasks is what a worker does with the tasks of a lead: the handlers of
// lead:enrich and lead:fallback, and the server that runs them.
//
//	server.go      one replica's two asynq servers
//	open.go        read the task and the ledger; is there anything to do?
//	enrich.go      walk the chain; settle, put back, or hand over to the fallback
//	fallback.go    directory, then partial data; its states are drawn there
//	settle.go      what is written to the ledger
//	trail.go       what is logged and counted of a walk
//	suppress.go    people who opted out
//	replay_hand.go an archived task that an operator runs again
//	schedule.go    when a task comes back
//	freeze.go      a process that was stopped
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
