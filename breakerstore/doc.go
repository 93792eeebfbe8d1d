// Package breakerstore is the [resilience.Gate] of a fleet: through Redis, every
// replica sees the same circuits, pauses and suspensions and shares the same
// allowances.
//
// It keeps these promises:
//
//   - The circuit's window is exact: it opens when the configured number of
//     failures lies within it, whichever replicas saw them, and none is lost.
//   - After an open circuit's cooldown one call of the whole fleet is the probe,
//     by a lease longer than any call. Whatever becomes of it, the lease ends.
//   - A generation fences every result: what was begun before a change of state
//     changes nothing. Generations start from Redis's clock, so that a Redis that
//     was flushed never looks older than what a replica remembers.
//   - No window of any limit has more calls than it allows, by all replicas
//     together. A slot that came too late to keep that is given up for another.
//   - A good call of an unlimited provider and a refusal while the circuit is
//     open do not call Redis. A limited call runs one script.
//   - Only Redis's clock counts. Replicas turn its deadlines into waits.
//   - Without Redis nobody is blocked for longer than one time-out. Each replica
//     then decides alone, with [resilience.LocalGate] and its part of the limits,
//     until Redis is back; what it knew is put back into a Redis that lost it.
//
// # Files
//
// Read them in this order, which is also that of the calls; none calls back up:
//
//	gate.go     New, the gate's goroutines, Shutdown
//	acquire.go  one caller's way to a permit
//	permit.go   the end of a call: what its result tells Redis
//	admin.go    what operators call: Circuits, Open, Close
//	watch.go    the goroutines: polling, heartbeat, the channel
//	mode.go     Redis goes and comes: shared or alone
//	slot.go     the times at which calls of a limited provider may start
//	queue.go    callers that wait before they may reserve a slot
//	sync.go     a circuit's way between Redis and this replica
//	args.go     the scripts' arguments
//	provider.go what this replica knows of one provider
//	hooks.go    telling of transitions
//	circuit.go  a circuit with deadlines on this replica's clock
//	snapshot.go a circuit as a script replies it
//	inflight.go one call of Redis, which takes no longer than its time-out
//	scripts.go  running the scripts in lua/
//
// # Keys
//
// With the prefix "backstop" and the provider "hunter"; a provider's keys share a
// hash slot of a cluster, and the scripts in lua/ say what is in each. Keys, fields and
// messages keep the names that the first version gave them (parked: suspended), so
// that two versions can run side by side:
//
//	backstop:gate:{hunter}:circuit    hash    7 days after the last change or the end of a pause or suspension; 90 if opened by hand or a key was refused
//	backstop:gate:{hunter}:failures   list    the window
//	backstop:gate:{hunter}:calls      hash    two windows; only with a failure ratio
//	backstop:gate:{hunter}:slots      list    the longest limit's period
//	backstop:gate:replicas            zset    10 s; which replicas were last seen
//	backstop:gate:events              channel each change of a circuit
//
// Nothing is decided by a key's expiry: it only cleans up.
package breakerstore
