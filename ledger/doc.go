// Package ledger is the SQL ledger, which owns every lead: Redis only moves them.
//
// It runs on SQLite (a file, shared by the processes of one machine) and on
// PostgreSQL (shared by machines). Both keep the same promises, which the suite
// in package ledgertest checks on both:
//
//   - A write is durable when its call returns. Callers that write at the same time
//     share one commit ([Options.GroupWait]); one whose write fails does not fail the
//     others.
//   - A lead has one current outcome. [Ledger.Settle] compares and sets by
//     [lead.Outcome.Score]: the outcome rises and never falls, whatever the order
//     and number of settlements, by however many processes.
//   - A lead is live until its current generation is settled. Generation 1 begins
//     when the lead is accepted, the next ones with [Ledger.Reopen].
//   - A run of a lead that was overtaken by another run changes nothing but the
//     trail ([ErrStale]). It is recognized by the [Record.Version] that it began from.
//   - A write that was committed, but whose answer was lost, may be repeated, and
//     counts once.
//   - The trail only grows, until it expires or the person is erased. It is kept
//     whether or not an outcome is replaced.
//   - People who opted out of processing are not accepted ([Accepted.Suppressed]) and
//     not kept, and their leads end as suppressed, whatever a run that is under way has
//     found. When a person is forgotten ([Ledger.Forget]), or a lead of theirs is settled
//     as suppressed, they are erased from all their leads in one transaction, beside
//     which no process writes. Their leads are found by any spelling of their address,
//     even if a provider only mentioned it ([Attempt.Found]), and by the names that these
//     leads came with. What remains are hashes, keyed with a secret of this ledger, which
//     never expire.
//   - What calls cost is added up in the transaction that appends them to a trail, once
//     for each entry ([Ledger.Spent]). The sums outlive the leads.
//   - Nothing that is live expires ([Ledger.Expire]).
//   - One damaged row does not keep others from being read ([DamagedError]).
//   - A caller that reads slowly holds up nobody ([Ledger.Outcomes]).
//   - Errors of this package hold no lead data and no password. [IsAway] tells a database
//     that cannot be reached, where trying again later is right ([WhileAway]), from a
//     call that cannot succeed.
//
// # One write
//
//	caller         SaveAttempt, Settle: a change of one lead           attempt.go, settle.go
//	  |            Accept, Reopen, Forget, Expire, …: statements       accept.go, runs.go, …
//	1 v
//	writer queue   the one goroutine that writes                       writer.go
//	2 v
//	group          what came at the same time                          writer.go
//	3 v
//	transaction    statements, one caller after the other; then        writer.go
//	               the changes of all callers together:                transaction.go
//	  a            lock the leads, read them and their outcomes        row.go
//	  b            edit them in memory, one change after the other     attempt.go, settle.go, trail.go
//	  c            write each table once: leads, trails, outcomes      transaction.go
//	  d            redact people who turned out to have opted out,     erase.go
//	               add up spending                                     spending.go
//	  e            commit, and answer the callers                      writer.go
//	4 v
//	scrub          SQLite: remove what was erased from the file's log  scrub.go
//
// A transaction that fails is divided, until the write that cannot succeed is alone
// with its error.
//
// # The files
//
//	ledger.go      opening and closing; how queries are run
//	dialect.go     the notation of the SQL, and all that differs between the databases
//	migrate.go     schemas, in migrations/; backfill.go fills in what one of them added
//	errors.go      what errors mean: away, stale, damaged
//	record.go      reading leads; outcomes.go reading outcomes; measures.go counting both
//	identity.go    who a lead is about
//	optout.go      who opted out; erase.go and expire.go what is removed, when, from where
//	directory.go   the in-house directory
package ledger
