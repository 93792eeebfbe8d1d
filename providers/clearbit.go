package providers

import (
	"context"
	"net/http"
	"net/url"

	"backstop/lead"
)

// clearbitFacts: the rate limit is that of each of Clearbit's APIs
// (https://clearbit.com/docs#rate-limiting). Keys exist only for accounts from
// 2023 or earlier.
var clearbitFacts = Facts{
	BaseURL: "https://person.clearbit.com",
	KeyEnv:  "CLEARBIT_API_KEY",
	Limits:  []Limit{{600, minute}},
}

// clearbitStatus is the part of Clearbit's table where the status decides alone
// (https://clearbit.com/docs#errors).
var clearbitStatus = map[int]statusRow{
	400: {lead.ClassOurBug, "bad parameters"},
	401: {lead.ClassAuth, "the key was refused"},
	402: {lead.ClassQuotaExhausted, "over the plan"},
	422: {lead.ClassInvalidInput, "not an address of a person"},
	429: {lead.ClassRateLimited, "too fast"},
}

type clearbit struct{ vendor }

// NewClearbit is Clearbit's Enrichment API, version 2, asked for person and
// company at once. It can be asked only about leads with an email address.
func NewClearbit(o Options) Provider { return &clearbit{newVendor(o, clearbitFacts.BaseURL)} }

func (c *clearbit) Name() string { return "clearbit" }

func (c *clearbit) Plan(l lead.Lead, missing []lead.Field) ([]Call, string) {
	if l.Email == "" {
		return nil, noEmail
	}
	if !missesMoreThan(missing, lead.PersonEmailStatus) {
		return nil, nothingToAdd
	}
	call := c.about(l, "combined/find")
	call.Do = func(ctx context.Context) Answer { return c.find(ctx, question{l, missing}) }
	return []Call{call}, ""
}

func (c *clearbit) find(ctx context.Context, q question) Answer {
	r, failed := c.get(ctx, "/v2/combined/find", url.Values{"email": {q.lead.Email}}, c.sign)
	if failed != nil {
		return *failed
	}
	return c.read(r, q)
}

func (c *clearbit) sign(h http.Header) { h.Set("Authorization", "Bearer "+c.APIKey) }

func (c *clearbit) read(r reply, q question) Answer {
	switch r.status {
	case 200:
		return c.found(r, q)
	case 202:
		return c.queued(r)
	case 404:
		return c.unknown(r)
	}
	return r.classify(clearbitStatus, c.Now())
}

func (c *clearbit) found(r reply, q question) Answer {
	doc, bad := r.json()
	switch {
	case bad != "":
		return r.answer(lead.ClassTransient, bad, c.Now())
	case clearbitError(doc) == "queued":
		return r.answer(lead.ClassPending, "being looked up", c.Now())
	case hasError(doc):
		return r.answer(lead.ClassTransient, "an error in an answer with status 200", c.Now())
	case !doc.has("person", "company"):
		return r.answer(lead.ClassTransient, undocumented, c.Now())
	}
	a := c.combined(q, doc.at("person"), doc.at("company"))
	a.Status = r.status
	return a
}

// queued reads a 202. It comes with an error of the type queued, with person and
// company null, or with no body at all.
func (c *clearbit) queued(r reply) Answer {
	doc, bad := r.json()
	switch {
	case bad != "" && bad != emptyBody:
		return r.answer(lead.ClassTransient, bad, c.Now())
	case hasError(doc) && clearbitError(doc) != "queued":
		return r.answer(lead.ClassTransient, "an error in an answer with status 202", c.Now())
	}
	return r.answer(lead.ClassPending, "being looked up", c.Now())
}

// unknown reads a 404, which says that the person is unknown, or that we asked
// for a path that does not exist. Only the former is an answer.
func (c *clearbit) unknown(r reply) Answer {
	doc, bad := r.json()
	switch {
	case bad != "" && bad != emptyBody:
		return r.answer(lead.ClassTransient, bad, c.Now())
	case clearbitError(doc) == "unknown_record":
		return r.answer(lead.ClassNoData, "no such person", c.Now())
	}
	return r.answer(lead.ClassOurBug, "unknown route", c.Now())
}

// clearbitError is the type of the error in a body: {"error":{"type":…}}, where
// both the object and an array of objects stand under "error" or "errors".
func clearbitError(doc node) string {
	for _, key := range []string{"error", "errors"} {
		for _, e := range doc.at(key).list() {
			if t, _ := e.at("type").v.(string); t != "" {
				return t
			}
		}
	}
	return ""
}

// hasError reports whether a body has an error in it, in whatever form.
func hasError(doc node) bool {
	return !doc.at("error").isEmpty() || !doc.at("errors").isEmpty()
}
