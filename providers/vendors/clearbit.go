package vendors

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/described"
	"backstop/providers/httpjson"
	"backstop/providers/profile"
	"backstop/resilience"
)

// clearbitFacts: the rate limit is that of each of Clearbit's APIs
// (https://clearbit.com/docs#rate-limiting). Keys exist only for accounts from
// 2023 or earlier.
var clearbitFacts = described.Facts{
	BaseURL: "https://person.clearbit.com",
	KeyEnv:  "CLEARBIT_API_KEY",
	Limits:  []resilience.Limit{{Rate: 600, Per: time.Minute}},

	Endpoints: []string{combinedFind, companiesFind, peopleFind},
}

// clearbitStatus is the part of Clearbit's table where the status decides alone
// (https://clearbit.com/docs#errors).
var clearbitStatus = map[int]httpjson.StatusRow{
	400: {Class: lead.ClassOurBug, Detail: "bad parameters"},
	401: {Class: lead.ClassAuth, Detail: "the key was refused"},
	402: {Class: lead.ClassQuotaExhausted, Detail: "over the plan"},
	422: {Class: lead.ClassInvalidInput, Detail: "not an address of a person"},
	429: {Class: lead.ClassRateLimited, Detail: "too fast"},
}

type clearbit struct{ vendor }

// clearbitCompanies is the host of the company API. A base_url of one's own stands
// for all hosts.
const clearbitCompanies = "https://company.clearbit.com"

// NewClearbit is Clearbit's Enrichment API, version 2, asked for the person, the
// company or both at once, whichever is missing. It can be asked about leads with
// an email address or, for their company, with its domain.
func NewClearbit(o httpjson.Options) providers.Provider {
	return &clearbit{newVendor(o, clearbitFacts.BaseURL)}
}

func (c *clearbit) Name() string { return "clearbit" }

func (c *clearbit) Plan(l lead.Lead, missing []lead.Field) ([]providers.Call, string) {
	q := profile.Question{Lead: l, Missing: missing}
	call, why := c.planEnrichment(q)
	if why != "" {
		return nil, why
	}
	endpoint := call.Endpoint
	call.Do = func(ctx context.Context) providers.Answer { return c.find(ctx, q, endpoint) }
	return []providers.Call{call}, ""
}

func (c *clearbit) find(ctx context.Context, q profile.Question, endpoint string) providers.Answer {
	base, query := c.Base, url.Values{"email": {q.Lead.Email}}
	if endpoint == companiesFind {
		query = url.Values{"domain": {q.Domain()}}
		if base == clearbitFacts.BaseURL {
			base = clearbitCompanies
		}
	}
	r, failed := c.GetFrom(ctx, base, "/v2/"+endpoint, query, c.sign)
	if failed != nil {
		return *failed
	}
	return c.read(r, q, endpoint)
}

func (c *clearbit) sign(h http.Header) { h.Set("Authorization", "Bearer "+c.APIKey) }

// read turns a reply into an Answer. Clearbit charges for the statuses 200, 201,
// 202 and 404, and an answer that broke off on the way may have been one of them.
func (c *clearbit) read(r httpjson.Reply, q profile.Question, endpoint string) providers.Answer {
	switch r.Status {
	case 200:
		return c.found(r, q, endpoint).Charged()
	case 202:
		return c.queued(r).Charged()
	case 404:
		a := c.unknown(r)
		a.Billed = a.Class != lead.ClassOurBug
		return a
	}
	a := r.Classify(clearbitStatus, c.Now())
	a.Billed = r.Status == 201
	return a
}

func (c *clearbit) found(r httpjson.Reply, q profile.Question, endpoint string) providers.Answer {
	doc, bad := r.JSON()
	switch {
	case bad != "":
		return r.Answer(lead.ClassTransient, bad, c.Now())
	case clearbitError(doc) == "queued":
		return r.Answer(lead.ClassPending, "being looked up", c.Now())
	case hasError(doc):
		return r.Answer(lead.ClassTransient, "an error in an answer with status 200", c.Now())
	}
	a := c.enriched(q, endpoint, doc)
	a.Status = r.Status
	return a
}

// queued reads a 202. It comes with an error of the type queued, with person and
// company null, or with no body at all.
func (c *clearbit) queued(r httpjson.Reply) providers.Answer {
	doc, bad := r.JSON()
	switch {
	case bad != "" && bad != httpjson.EmptyBody:
		return r.Answer(lead.ClassTransient, bad, c.Now())
	case hasError(doc) && clearbitError(doc) != "queued":
		return r.Answer(lead.ClassTransient, "an error in an answer with status 202", c.Now())
	}
	return r.Answer(lead.ClassPending, "being looked up", c.Now())
}

// unknown reads a 404, which says that the person is unknown, or that we asked
// for a path that does not exist. Only the former is an answer.
func (c *clearbit) unknown(r httpjson.Reply) providers.Answer {
	doc, bad := r.JSON()
	switch {
	case bad != "" && bad != httpjson.EmptyBody:
		return r.Answer(lead.ClassTransient, bad, c.Now())
	case clearbitError(doc) == "unknown_record":
		return r.Answer(lead.ClassNoData, "no such person", c.Now())
	}
	return r.Answer(lead.ClassOurBug, "unknown route", c.Now())
}

// clearbitError is the type of the error in a body: {"error":{"type":…}}, where
// both the object and an array of objects stand under "error" or "errors".
func clearbitError(doc httpjson.Node) string {
	for _, key := range []string{"error", "errors"} {
		for _, e := range doc.At(key).List() {
			if t, _ := e.At("type").V.(string); t != "" {
				return t
			}
		}
	}
	return ""
}

// hasError reports whether a body has an error in it, in whatever form.
func hasError(doc httpjson.Node) bool {
	return !doc.At("error").IsEmpty() || !doc.At("errors").IsEmpty()
}
