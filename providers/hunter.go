package providers

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"backstop/lead"
)

// hunterFacts: the limits are those of the e-mail verifier, the strictest of the
// endpoints asked here; combined/find allows 15 a second and 500 a minute
// (https://hunter.io/api-documentation/v2#email-verifier).
var hunterFacts = Facts{
	BaseURL: "https://api.hunter.io",
	KeyEnv:  "HUNTER_API_KEY",
	Limits:  []Limit{{10, second}, {300, minute}},
}

// hunterStatus is the part of Hunter's table where the status decides alone
// (https://hunter.io/api-documentation/v2#errors). It uses 403 and 429 the other
// way round from most: 403 is "too fast" and 429 is "used up".
var hunterStatus = map[int]statusRow{
	222: {lead.ClassTransient, "the mail server answered strangely: a 2xx without data"},
	400: {lead.ClassOurBug, "bad parameters"},
	401: {lead.ClassAuth, "the key was refused"},
	403: {lead.ClassRateLimited, "too fast"},
	422: {lead.ClassInvalidInput, "not acceptable"},
	429: {lead.ClassQuotaExhausted, "the plan is used up"},
	451: {lead.ClassForbidden, "the person asked not to be processed"},
}

type hunter struct{ vendor }

// NewHunter is Hunter's API, version 2: person and company at once, and the
// state of the address. It can be asked only about leads with an email address.
func NewHunter(o Options) Provider { return &hunter{newVendor(o, hunterFacts.BaseURL)} }

func (h *hunter) Name() string { return "hunter" }

func (h *hunter) Plan(l lead.Lead, missing []lead.Field) (calls []Call, why string) {
	if l.Email == "" {
		return nil, noEmail
	}
	q := question{l, missing}
	if missesMoreThan(missing, lead.PersonEmailStatus) {
		call := h.about(l, "combined/find")
		call.Do = func(ctx context.Context) Answer { return h.ask(ctx, "/v2/combined/find", q, h.found) }
		calls = append(calls, call)
	}
	if slices.Contains(missing, lead.PersonEmailStatus) {
		call := h.about(l, "email-verifier")
		call.Do = func(ctx context.Context) Answer { return h.ask(ctx, "/v2/email-verifier", q, h.verified) }
		calls = append(calls, call)
	}
	if len(calls) == 0 {
		why = nothingToAdd
	}
	return calls, why
}

// ask makes a request. read is given the data of an answer that has some.
func (h *hunter) ask(ctx context.Context, path string, q question, read func(question, node) Answer) Answer {
	r, failed := h.get(ctx, path, url.Values{"email": {q.lead.Email}}, h.sign)
	if failed != nil {
		return *failed
	}
	return h.read(r, q, read)
}

func (h *hunter) sign(header http.Header) { header.Set("X-API-KEY", h.APIKey) }

func (h *hunter) read(r reply, q question, read func(question, node) Answer) Answer {
	switch r.status {
	case 200, 201:
		return h.data(r, q, read)
	case 202:
		return h.pending(r)
	case 404:
		return h.unknown(r)
	}
	return r.classify(hunterStatus, h.Now())
}

func (h *hunter) data(r reply, q question, read func(question, node) Answer) Answer {
	doc, bad := r.json()
	switch {
	case bad != "":
		return r.answer(lead.ClassTransient, bad, h.Now())
	case hasError(doc):
		return r.answer(lead.ClassTransient, "an error in an answer with a status of success", h.Now())
	case !doc.has("data"):
		return r.answer(lead.ClassTransient, undocumented, h.Now())
	case doc.at("data").v == nil:
		return r.answer(lead.ClassNoData, "an answer without a value", h.Now())
	}
	a := read(q, doc.at("data"))
	a.Status = r.status
	return a
}

func (h *hunter) found(q question, data node) Answer {
	if !data.has("person", "company") {
		return Answer{Class: lead.ClassTransient, Detail: undocumented}
	}
	return h.combined(q, data.at("person"), data.at("company"))
}

// hunterEmailStates are the values of the verifier's data.status.
var hunterEmailStates = []string{"valid", "invalid", "accept_all", "webmail", "disposable", "unknown"}

func (h *hunter) verified(q question, data node) Answer {
	if !data.has("status") {
		return Answer{Class: lead.ClassTransient, Detail: undocumented}
	}
	if q.isAboutAnother(data) {
		return Answer{Class: lead.ClassNoData, Detail: somebodyElse}
	}
	state := text(data.at("status"))
	if !slices.Contains(hunterEmailStates, state) {
		return Answer{Class: lead.ClassNoData, Detail: "a state of the address that is not documented"}
	}
	p := lead.Profile{lead.PersonEmailStatus: state}
	return Answer{Class: h.fullness(q, p), Profile: p}
}

// pending reads a 202: a verification still runs. Asking again is not charged.
func (h *hunter) pending(r reply) Answer {
	doc, bad := r.json()
	switch {
	case bad != "" && bad != emptyBody:
		return r.answer(lead.ClassTransient, bad, h.Now())
	case hasError(doc):
		return r.answer(lead.ClassTransient, "an error in an answer with status 202", h.Now())
	}
	return r.answer(lead.ClassPending, "being verified", h.Now())
}

// unknown reads a 404. A page of HTML is not Hunter's answer.
func (h *hunter) unknown(r reply) Answer {
	if _, bad := r.json(); bad != "" && bad != emptyBody {
		return r.answer(lead.ClassTransient, bad, h.Now())
	}
	return r.answer(lead.ClassNoData, "nothing known", h.Now())
}
