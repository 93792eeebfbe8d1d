// Package resilience decides what an answer's class means: whether to retry and
// when, whether to go on to the next provider, and when to give up.
//
// [Chain.Walk] takes one lead along the providers. Every call passes a [Gate],
// which knows the circuits and the rate limits; [LocalGate] is the gate of one
// process alone, for when no shared one can be reached.
//
// The chain is a waterfall: each provider is asked for what those before it left
// open ([lead.Facts.Open]), by what they found ([lead.Facts.Known]), under its
// [Rule], and within its caps ([Credits]). An answer's data is merged before the
// next one is asked.
//
// Nothing here sleeps through a backoff: a walk ends with what is to happen next
// ([Verdict]) and the caller's queue brings the lead back when it is due. What a
// lead must remember between walks is in [Progress].
package resilience
