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

	Endpoints: []string{combinedFind, companiesFind, peopleFind},
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

// clearbitCompanies is the host of the company API. A base_url of one's own stands
// for all hosts.
const clearbitCompanies = "https://company.clearbit.com"

// NewClearbit is Clearbit's Enrichment API, version 2, asked for the person, the
// company or both at once, whichever is missing. It can be asked about leads with
// an email address or, for their company, with its domain.
func NewClearbit(o Options) Provider { return &clearbit{newVendor(o, clearbitFacts.BaseURL)} }

func (c *clearbit) Name() string { return "clearbit" }

func (c *clearbit) Plan(l lead.Lead, missing []lead.Field) ([]Call, string) {
	q := question{l, missing}
	call, why := c.planEnrichment(q)
	if why != "" {
		return nil, why
	}
	endpoint := call.Endpoint
	call.Do = func(ctx context.Context) Answer { return c.find(ctx, q, endpoint) }
	return []Call{call}, ""
}

func (c *clearbit) find(ctx context.Context, q question, endpoint string) Answer {
	base, query := c.base, url.Values{"email": {q.lead.Email}}
	if endpoint == companiesFind {
		query = url.Values{"domain": {q.domain()}}
		if base == clearbitFacts.BaseURL {
			base = clearbitCompanies
		}
	}
	r, failed := c.getFrom(ctx, base, "/v2/"+endpoint, query, c.sign)
	if failed != nil {
		return *failed
	}
	return c.read(r, q, endpoint)
}

func (c *clearbit) sign(h http.Header) { h.Set("Authorization", "Bearer "+c.APIKey) }

// read turns a reply into an Answer. Clearbit charges for the statuses 200, 201,
// 202 and 404, and an answer that broke off on the way may have been one of them.
func (c *clearbit) read(r reply, q question, endpoint string) Answer {
	switch r.status {
	case 200:
		return c.found(r, q, endpoint).billed()
	case 202:
		return c.queued(r).billed()
	case 404:
		a := c.unknown(r)
		a.Billed = a.Class != lead.ClassOurBug
		return a
	}
	a := r.classify(clearbitStatus, c.Now())
	a.Billed = r.status == 201
	return a
}

func (c *clearbit) found(r reply, q question, endpoint string) Answer {
	doc, bad := r.json()
	switch {
	case bad != "":
		return r.answer(lead.ClassTransient, bad, c.Now())
	case clearbitError(doc) == "queued":
		return r.answer(lead.ClassPending, "being looked up", c.Now())
	case hasError(doc):
		return r.answer(lead.ClassTransient, "an error in an answer with status 200", c.Now())
	}
	a := c.enriched(q, endpoint, doc)
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
