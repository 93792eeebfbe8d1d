// Package ledger is the SQL ledger, which owns every lead: Redis only moves them.
//
// It runs on SQLite (a file, shared by the processes of one machine) and on
// PostgreSQL (shared by machines). Both keep the same promises, which the suite
// in package ledgertest checks on both:
//
//   - A write is durable when its call returns. Callers that write at the same
//     time share one commit ([Options.GroupWait]); one whose write fails does not
//     fail the others.
//   - A lead has one current outcome. [Ledger.Settle] compares and sets by
//     [lead.Outcome.Score]: the outcome rises and never falls, whatever the order
//     and number of settlements, by however many processes.
//   - A lead is live until its current generation is settled. Generation 1 begins
//     when the lead is accepted, the next ones with [Ledger.Reopen].
//   - A run of a lead that was overtaken by another one changes nothing but the
//     trail ([ErrStale]). It is told by the [Record.Version] that it began from.
//   - A write whose commit succeeded and whose answer was lost may be repeated, and
//     counts once.
//   - The trail only grows, until it expires or the person is erased. It is kept
//     whether or not an outcome is replaced.
//   - Who asked not to be processed is not taken in ([Accepted.Suppressed]), is not
//     kept, and ends as suppressed, whatever a run that is under way has found: a
//     person who is forgotten ([Ledger.Forget]) or settled as suppressed is erased in one
//     transaction, alone among the writes of all processes, from all their leads,
//     which are found by any spelling of their address, also of one that a provider
//     only named ([Attempt.Found]), and by the names that these leads came with. What
//     remains are hashes, keyed by a secret of this ledger, which never expire.
//   - What calls cost is added up in the transaction that appends them to a trail, once
//     for each entry ([Ledger.Spent]). It outlives the leads.
//   - Nothing that is live expires ([Ledger.Expire]).
//   - Errors and logs of this package hold no lead data and no password.
//     [IsAway] tells a database that cannot be reached, where trying again later
//     is right, from a write that cannot succeed.
//
// The SQL is written once, in the notation of dialect.go, which is also the one
// place where the two databases differ.
package ledger
