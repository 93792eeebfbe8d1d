// Package chain is the waterfall of one lead: which providers are asked about it, in
// which order, for what, and what follows from each answer.
//
// [Chain.Walk] takes a lead along the providers as far as it comes now. Read the files
// in this order, which is also that of the calls; none calls back up:
//
//	chain.go    Walk: the providers, one after the other
//	end.go      how a walk ends that came to the end of the chain
//	turn.go     one provider's turn: its calls, until it has nothing more to give
//	plan.go     which call is next, by what is missing and the provider's Rule
//	ask.go      one call: answer cache, credits, then the gate (resilience.Do)
//	apply.go    what the answer, or the refusal, means for the lead
//	optout.go   people who opted out of processing
//	budget.go   how much time is left, and for whom
//	walk.go     what a walk holds while it is under way
//	progress.go what a lead remembers between walks; verdict.go, what follows from one
//
// Each provider is asked for what those before it left open ([lead.Facts.Open]), by what
// they found ([lead.Facts.Known]), under its [Rule] and within its caps ([Credits]). An
// answer is merged before the next provider is asked.
//
// A walk never sleeps through a backoff: it ends with what is to happen next ([Verdict]),
// and the caller's queue brings the lead back when that is due. What a lead must remember
// until then is its [Progress].
package chain
