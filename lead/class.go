package lead

// A Class is what an answer of a provider means for the lead and for the
// provider's circuit. Every answer of every provider is mapped onto one, by that
// provider's own table: no table of statuses is right for all of them.
type Class string

// The classes of answers.
const (
	ClassOK             Class = "ok"              // data about the right person
	ClassPartial        Class = "partial"         // some of the wanted fields
	ClassNoData         Class = "no_data"         // a valid negative
	ClassPending        Class = "pending"         // being looked up; ask again later
	ClassTransient      Class = "transient"       // 5xx, time-out, reset, truncated, not JSON
	ClassRateLimited    Class = "rate_limited"    // too fast
	ClassQuotaExhausted Class = "quota_exhausted" // the plan is used up until a date
	ClassAuth           Class = "auth"            // the key was refused
	ClassInvalidInput   Class = "invalid_input"   // this lead cannot be asked about
	ClassForbidden      Class = "forbidden"       // the person asked not to be processed
	ClassOurBug         Class = "our_bug"         // unknown route, bad parameters
)

// The classes of trail entries that are no answer.
const (
	ClassSkip     Class = "skip"     // the gate refused: circuit open, provider suspended
	ClassFallback Class = "fallback" // the lead went to the fallback
	ClassCrash    Class = "crash"    // a run of the lead ended without a word; its worker died, or Redis lost the reply
)

// Classes lists the classes of answers.
var Classes = []Class{
	ClassOK, ClassPartial, ClassNoData, ClassPending, ClassTransient, ClassRateLimited,
	ClassQuotaExhausted, ClassAuth, ClassInvalidInput, ClassForbidden, ClassOurBug,
}

// IsNegative reports whether the class is a valid answer that holds no data: to
// ask again would buy the same answer.
func (c Class) IsNegative() bool { return c == ClassNoData || c == ClassInvalidInput }

// HasData reports whether the class brings data to merge.
func (c Class) HasData() bool { return c == ClassOK || c == ClassPartial }
