package intake

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
)

// containers are the objects that are looked into, with the prefix that their
// keys get: a lead may be flat, or as {"person":{…},"company":{…}}, or wrapped as
// CRMs' APIs do it.
var containers = map[string]string{
	"person": "", "contact": "", "lead": "", "profile": "", "properties": "", "attributes": "",
	"company": "company", "organization": "company", "organisation": "company", "account": "company", "employer": "company",
}

// object gathers the values of a JSON object.
type object struct {
	sch    *schema
	values values
	ranks  [numTargets]int // the rank of each value, one more than the schema's; 0 is none
	empty  bool
	reject *Reject
}

// decodeObject makes values of a JSON object. The reject, if any, has no line.
func decodeObject(b []byte, sch *schema) (values, bool, *Reject) {
	v, err := decode(b)
	if err != nil {
		return values{}, false, &Reject{Reason: "is not valid JSON", Cure: "correct the object; it must be whole and on a line of its own"}
	}
	m, ok := v.(map[string]any)
	if !ok {
		return values{}, false, &Reject{Reason: "is not a JSON object", Cure: `give it as {"email":"…"}`}
	}
	o := object{sch: sch, empty: true}
	o.add(m, "")
	return o.values, o.empty, o.reject
}

// decode reads one JSON value that is all there is.
func decode(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber() // an ID of 18 digits stays as it is
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text follows the value")
	}
	return v, nil
}

func (o *object) add(m map[string]any, prefix string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if o.reject != nil {
			return
		}
		k := key(name)
		inner, isObject := m[name].(map[string]any)
		if into, ok := containers[k]; isObject && ok {
			o.add(inner, into)
			continue
		}
		if prefix != "" {
			k = prefix + k
		}
		o.set(k, m[name])
	}
}

// set keeps a value if its key is known and it is preferred to what is there.
func (o *object) set(k string, v any) {
	p, known := o.sch.find(k)
	var s string
	switch v := v.(type) {
	case nil:
		return
	case string:
		s = v
	case json.Number:
		s = v.String()
	case bool:
		s = "false"
		if v {
			s = "true"
		}
		if known && !isFlag(p.target) {
			o.refuse(p.target, "is true or false, not text")
			return
		}
	default:
		o.empty = false
		if known {
			o.refuse(p.target, "is a list or an object, not text")
		}
		return
	}
	if isBlank(s) {
		return
	}
	o.empty = false
	if !known {
		return
	}
	t, rank := p.target, p.rank+1
	if isFlag(t) {
		if o.values[t] == "" || says(s) && t != tStatus || isOptOut(s) {
			o.values[t] = s
		}
		return
	}
	if o.ranks[t] == 0 || rank < o.ranks[t] {
		o.values[t], o.ranks[t] = plain(s), rank
	}
}

func (o *object) refuse(t target, reason string) {
	o.reject = &Reject{Field: names[t], Reason: reason, Cure: "give it as text"}
}

// isFlag reports whether the target is one by which a row is skipped.
func isFlag(t target) bool {
	switch t {
	case tDeleted, tOptOut, tOptOutTime, tStatus, tSkip:
		return true
	}
	return false
}
