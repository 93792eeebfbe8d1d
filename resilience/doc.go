// Package resilience guards one call of a provider: its circuit, its rate limits, and
// what the provider asks for by its answers.
//
// [Do] makes a call behind a [Gate], which gives a [Permit] for it or a [Refusal] that
// says why not and until when. [LocalGate] is the gate of one process; package
// breakerstore has the one that a fleet shares through Redis. Both obey a [GateConfig].
//
// Nothing here retries or waits through a backoff. [Retry] only says when a retry is due.
//
// Read the files in this order, which is also that of the calls; none calls back up:
//
//	do.go             Do: permit, time-out, call, result
//	local.go          LocalGate
//	local_permit.go   the end of a call
//	local_provider.go slots, pause, suspension and circuit of one provider
//	local_circuit.go  gobreaker's circuit and what that one lacks
//	local_slots.go    when calls may start
//	local_hook.go     telling of transitions
//	gate.go           the interface, its refusals and reports; what a class means for a circuit
//	limits.go         Limit, GateConfig, its defaults and what follows from them
//	backoff.go        Retry
package resilience
