package described

import (
	"slices"
	"strings"
	"time"

	"backstop/lead"
	"backstop/providers/httpjson"
)

// An answerRow is a row of a described provider's table of answers.
type answerRow struct {
	statuses []statusRange
	when     []condition // all of which must hold
	class    lead.Class  // ok: the fields are read, and say whether it is partial
	detail   string
	billed   bool
	wait     time.Duration // where the header does not say one
}

// A statusRange is the statuses from from to to, both included.
type statusRange struct{ from, to int }

func (r answerRow) hasStatus(status int) bool {
	return slices.ContainsFunc(r.statuses, func(s statusRange) bool { return s.from <= status && status <= s.to })
}

// matches reports whether the row is about a reply. doc is nil when the body is
// not a JSON document: then nothing holds of it.
func (r answerRow) matches(status int, doc *httpjson.Node) bool {
	if !r.hasStatus(status) {
		return false
	}
	return !slices.ContainsFunc(r.when, func(c condition) bool { return doc == nil || !c.holds(*doc) })
}

// needsBody reports whether the row's class is an answer of the API itself. A
// page of HTML with the same status, which a proxy sends, is none.
func (r answerRow) needsBody() bool {
	return r.class == lead.ClassOK || r.class == lead.ClassNoData || r.class == lead.ClassPending
}

// A condition is one about the values at a path.
type condition struct {
	path   jsonPath
	op     string
	words  []string // of equals, one_of and contains
	number float64  // of at_least and below
}

// The conditions of one word. The others are keys with a value.
var conditionWords = []string{"present", "absent", "null", "empty", "filled"}

var conditionKeys = []string{"equals", "one_of", "contains", "at_least", "below"}

func (c condition) holds(doc httpjson.Node) bool {
	found := c.path.find(doc)
	switch c.op {
	case "absent":
		return len(found) == 0
	case "present":
		return len(found) > 0
	case "null":
		return len(found) > 0 && !slices.ContainsFunc(found, func(n httpjson.Node) bool { return n.V != nil })
	case "empty":
		return len(found) > 0 && !slices.ContainsFunc(found, func(n httpjson.Node) bool { return !n.IsEmpty() })
	}
	return slices.ContainsFunc(found, c.holdsOf)
}

// holdsOf is for conditions that one of the values must meet.
func (c condition) holdsOf(n httpjson.Node) bool {
	word, isWord := n.Word()
	switch c.op {
	case "filled":
		return !n.IsEmpty()
	case "equals", "one_of":
		return isWord && slices.Contains(c.words, word)
	case "contains":
		return isWord && slices.ContainsFunc(c.words, func(w string) bool {
			return strings.Contains(strings.ToLower(word), strings.ToLower(w))
		})
	}
	f, isNumber := n.Numeric()
	return isNumber && (c.op == "at_least" && f >= c.number || c.op == "below" && f < c.number)
}

// classDetails describe an answer whose row does not.
var classDetails = map[lead.Class]string{
	lead.ClassNoData:         "nothing known",
	lead.ClassPending:        "being looked up",
	lead.ClassTransient:      "a failure on the server's side",
	lead.ClassRateLimited:    "too fast",
	lead.ClassQuotaExhausted: "the plan is used up",
	lead.ClassAuth:           "the key was refused",
	lead.ClassInvalidInput:   "not acceptable",
	lead.ClassForbidden:      "the person asked not to be processed",
	lead.ClassOurBug:         "bad parameters",
}
