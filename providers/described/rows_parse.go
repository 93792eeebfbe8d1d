package described

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"backstop/lead"
	"backstop/providers/httpjson"
)

// rowClasses are the classes that a row may name.
var rowClasses = slices.DeleteFunc(slices.Clone(lead.Classes), func(c lead.Class) bool { return c == lead.ClassPartial })

func (d *Description) readAnswers(s spot) {
	for _, item := range s.sequence() {
		row := readRow(item.mapping("status", "when", "class", "detail", "billed", "wait"))
		if earlier, hidden := d.hides(row); hidden {
			item.fail("can never match: answers[%d] takes all its statuses before it; move this one up", earlier)
		}
		d.answers = append(d.answers, row)
	}
	if s.node.Kind == yaml.SequenceNode && !slices.ContainsFunc(d.answers, func(r answerRow) bool { return r.class == lead.ClassOK }) {
		s.fail("has no row of the class ok: say which answer has data, such as {status: 200, when: {person: filled}, class: ok}")
	}
}

// hides reports whether an earlier row takes every reply that row is about.
func (d *Description) hides(row answerRow) (earlier int, hidden bool) {
	if len(row.statuses) == 0 {
		return 0, false
	}
	for i, old := range d.answers {
		if len(old.when) == 0 && !slices.ContainsFunc(row.statuses, func(s statusRange) bool {
			return !slices.ContainsFunc(old.statuses, func(o statusRange) bool { return o.from <= s.from && s.to <= o.to })
		}) {
			return i, true
		}
	}
	return 0, false
}

func readRow(m mapping) answerRow {
	var r answerRow
	if s, ok := m.want("status", "give a number, a list of numbers, or a range such as 5xx"); ok {
		for _, one := range s.list() {
			if st, ok := readStatus(one); ok {
				r.statuses = append(r.statuses, st)
			}
		}
		if len(s.list()) == 0 {
			s.fail("must be a list with something in it")
		}
	}
	if s, ok := m.want("class", "use one of "+joinClasses()); ok {
		r.class = readClass(s)
	}
	w, hasWhen := m.get("when")
	if hasWhen {
		r.when = readConditions(w)
	}
	if r.class == lead.ClassOK && !hasWhen {
		m.problems.add(m.node.Line, m.below("when"), "is missing: a status alone does not show that an answer has data; name a path that only data has, such as {person: filled}")
	}
	r.detail = classDetails[r.class]
	if s, ok := m.get("detail"); ok {
		r.detail = readDetail(s)
	}
	r.billed = r.class == lead.ClassOK
	if s, ok := m.get("billed"); ok {
		r.billed, _ = s.truth()
	}
	if s, ok := m.get("wait"); ok {
		r.wait, _ = s.duration()
		if r.wait > httpjson.MaxWait {
			s.fail("must be at most %s", httpjson.MaxWait)
		}
		if r.class != lead.ClassPending && r.class != lead.ClassRateLimited && r.class != lead.ClassTransient {
			s.fail("only answers of the classes pending, rate_limited and transient are waited for")
		}
	}
	return r
}

func joinClasses() string {
	words := make([]string, len(rowClasses))
	for i, c := range rowClasses {
		words[i] = string(c)
	}
	return strings.Join(words, ", ")
}

func readClass(s spot) lead.Class {
	word, ok := s.text()
	switch {
	case !ok:
		return ""
	case lead.Class(word) == lead.ClassPartial:
		s.fail("partial follows from the fields that an answer has: use ok")
		return ""
	case !slices.Contains(rowClasses, lead.Class(word)):
		s.fail("there is no class %q: use one of %s", word, joinClasses())
		return ""
	}
	return lead.Class(word)
}

func readStatus(s spot) (statusRange, bool) {
	word, ok := s.scalar()
	if !ok {
		return statusRange{}, false
	}
	first, xx := strings.CutSuffix(word, "xx")
	number, err := strconv.ParseUint(first, 10, 31) // digits only
	n := int(number)
	r := statusRange{n, n}
	if xx {
		r = statusRange{n * 100, n*100 + 99}
	}
	if err != nil || r.from < 200 || r.to > 599 {
		s.fail("never comes: use a number from 200 to 599, or 2xx, 3xx, 4xx or 5xx")
		return statusRange{}, false
	}
	return r, true
}

func readDetail(s spot) string {
	text, ok := s.text()
	if ok && (len(text) > 80 || strings.ContainsAny(text, `@<>{}"`) || strings.ContainsFunc(text, unicode.IsControl)) {
		s.fail("must be a few plain words, at most 80 bytes without any of @<>{}\": it is never a part of the answer")
	}
	return text
}

func readConditions(s spot) []condition {
	var all []condition
	for _, e := range s.mapping().entries {
		c, ok := readCondition(e)
		path, wrong := parsePath(e.name)
		if wrong != "" {
			e.fail("%s", wrong)
		}
		if c.path = path; ok {
			all = append(all, c)
		}
	}
	if s.node.Kind == yaml.MappingNode && len(s.node.Content) == 0 {
		s.fail("has no condition: leave it out")
	}
	return all
}

func readCondition(e entry) (condition, bool) {
	word := e.node.Value // null is written as YAML's own
	if e.node.Kind == yaml.ScalarNode && slices.Contains(conditionWords, word) {
		return condition{op: word}, true
	}
	if e.node.Kind != yaml.MappingNode || len(e.node.Content) != 2 || !slices.Contains(conditionKeys, e.node.Content[0].Value) {
		e.fail("there is no such condition: use one of %s, or {%s: …}", strings.Join(conditionWords, ", "), strings.Join(conditionKeys, ": …}, {"))
		return condition{}, false
	}
	c := condition{op: e.node.Content[0].Value}
	value := spot{e.node.Content[1], e.below(c.op), e.problems}
	switch c.op {
	case "at_least", "below":
		var ok bool
		c.number, ok = value.number()
		return c, ok
	}
	items := value.list()
	if c.op == "one_of" {
		items = value.sequence()
	}
	for _, item := range items {
		if w, ok := item.scalar(); ok && w != "" {
			c.words = append(c.words, w)
		} else if ok {
			item.fail("is blank: use empty or filled")
		}
	}
	return c, len(c.words) > 0
}
