// Package profile is what asking about a person and reading an answer have in common at
// all providers: what names the person or company ([Question]), whether an answer is about
// them, and how texts, head counts, places and addresses get into a [lead.Profile].
package profile

// Why a provider has no call to make, and what is wrong with an answer.
const (
	NoEmail      = "has no email address"
	NothingToAdd = "nothing is missing that it could tell"
	NoValue      = "an answer without a value"
)
