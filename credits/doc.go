// Package credits bounds what the fleet spends at a provider in a day and in a
// month of UTC, so that a job that runs away stops spending: [Store] is
// [chain.Credits] on Redis.
//
// The ledger knows what was spent for good; Redis counts that and what is under
// way. It keeps these promises:
//
//   - What is spent or reserved never exceeds a cap, by all replicas together, and
//     a cap is used to its last micro-credit. Amounts are whole micro-credits, a
//     price being rounded up to one.
//   - A call is counted from before it is made until the provider's answer says
//     that it costs less. What nobody commits stays counted: a process that dies
//     costs the period at most the calls that it had under way.
//   - A counter is never below what the ledger knew some 10 s ago. A Redis that
//     was flushed begins from the ledger as it is then, one that went back to an
//     older copy is raised to it.
//   - While nothing can count a call, it waits: its lead comes back a second later
//     ([chain.CapReached].Unknown).
//   - Nobody waits longer than Options.Timeout, whatever hangs.
//
// # What a cap may be exceeded by
//
// After Redis lost its data: by what was reserved or committed and not yet in the
// ledger, that is the calls under way at that moment. After it went back to an
// older copy: by what was reserved since that copy and is not yet in the ledger as
// a replica last read it. None of this adds up: what is in the ledger is counted again.
//
// A period is that of the process's clock when it reserves. The ledger puts a call
// into that in which it began, so that at midnight calls under way may count for
// the day before.
//
// When Redis cannot be reached, or lacks a counter and the ledger cannot be read, every
// call is refused for a second at a time: Until is then the end of that, and
// Options.Refused is told "unknown".
//
// # Keys
//
// With the prefix "backstop" and the provider "hunter"; both are in one hash slot
// of a cluster, and the scripts in lua/ say what is in them:
//
//	backstop:credits:{hunter}:day:2026-03-01  hash  until a day after its end
//	backstop:credits:{hunter}:month:2026-03   hash  until a day after its end
package credits
