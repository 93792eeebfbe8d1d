package providers

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"backstop/lead"
)

// hunterFacts: the limits are those of the e-mail verifier, the strictest of the
// endpoints asked here; the others allow 15 a second and 500 a minute
// (https://hunter.io/api-documentation/v2#email-verifier).
var hunterFacts = Facts{
	BaseURL: "https://api.hunter.io",
	KeyEnv:  "HUNTER_API_KEY",
	Limits:  []Limit{{10, second}, {300, minute}},

	Endpoints: []string{combinedFind, companiesFind, emailFinder, emailVerifier, peopleFind},
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

// The endpoints that Hunter alone has.
const (
	emailFinder   = "email-finder"
	emailVerifier = "email-verifier"
)

type hunter struct{ vendor }

// NewHunter is Hunter's API, version 2: the person, the company or both at once,
// the address of somebody who is known by name and company, and the state of an
// address.
func NewHunter(o Options) Provider { return &hunter{newVendor(o, hunterFacts.BaseURL)} }

func (h *hunter) Name() string { return "hunter" }

// A hunterCall is what differs between the endpoints.
type hunterCall struct {
	path  string
	query url.Values
	read  func(question, node) Answer
	free  func(data node) bool // whether an answer with this data costs nothing
}

func (h *hunter) Plan(l lead.Lead, missing []lead.Field) (calls []Call, why string) {
	q := question{l, missing}
	add := func(c Call, hc hunterCall) {
		c.Do = func(ctx context.Context) Answer { return h.ask(ctx, q, hc) }
		calls = append(calls, c)
	}
	if n := q.named(); q.seeksAddress() {
		add(h.aboutName(q, emailFinder), h.finder(n))
	}
	c, why := h.planEnrichment(q)
	if why == "" {
		add(c, h.enrichment(q, c.Endpoint))
	}
	if slices.Contains(missing, lead.PersonEmailStatus) && l.Email != "" {
		add(h.about(l, emailVerifier), h.verifier(q))
	}
	if len(calls) > 0 {
		why = ""
	}
	return calls, why
}

func (h *hunter) enrichment(q question, endpoint string) hunterCall {
	query := url.Values{"email": {q.lead.Email}}
	if endpoint == companiesFind {
		query = url.Values{"domain": {q.domain()}}
	}
	return hunterCall{
		path: "/v2/" + endpoint, query: query,
		read: func(q question, data node) Answer { return h.enriched(q, endpoint, data) },
		free: func(data node) bool {
			return endpoint == combinedFind && data.at("person").isEmpty() && data.at("company").isEmpty()
		},
	}
}

func (h *hunter) verifier(q question) hunterCall {
	return hunterCall{
		path: "/v2/" + emailVerifier, query: url.Values{"email": {q.lead.Email}}, read: h.verified,
		free: func(data node) bool { return slices.Contains(hunterUncounted, text(data.at("status"))) },
	}
}

// ask makes a request. When the plan is used up and the answer does not say until
// when, it asks for that date too.
func (h *hunter) ask(ctx context.Context, q question, hc hunterCall) Answer {
	r, failed := h.get(ctx, hc.path, hc.query, h.sign)
	if failed != nil {
		return *failed
	}
	a := h.read(r, q, hc)
	if a.Class == lead.ClassQuotaExhausted && a.Until.IsZero() {
		a.Until = h.renewal(ctx)
	}
	return a
}

// renewal is when the plan is renewed: at midnight UTC of the account's reset_date
// (https://hunter.io/help/faq_categories/8-requests-usage). It is the one request beside a
// call's own; it is free, has the call's deadline, and what goes wrong with it only
// leaves the date open.
func (h *hunter) renewal(ctx context.Context) time.Time {
	r, failed := h.get(ctx, "/v2/account", nil, h.sign)
	if failed != nil || r.status != http.StatusOK {
		return time.Time{}
	}
	return h.resetDate(r)
}

// resetDate reads the answer of /account. A date that is past, or none, is zero.
func (h *hunter) resetDate(r reply) time.Time {
	doc, bad := r.json()
	now := h.Now()
	t := isoTime(text(doc.at("data", "reset_date")))
	if bad != "" || !t.After(now) {
		return time.Time{}
	}
	return now.Add(between(now, t, maxQuota))
}

func (h *hunter) sign(header http.Header) { header.Set("X-API-KEY", h.APIKey) }

func (h *hunter) read(r reply, q question, hc hunterCall) Answer {
	switch r.status {
	case 200, 201:
		return h.data(r, q, hc)
	case 202:
		return h.pending(r)
	case 404:
		return h.unknown(r)
	}
	return r.classify(hunterStatus, h.Now())
}

// data reads an answer with data. It is charged unless it has nothing in it; one
// that cannot be read may have been charged.
func (h *hunter) data(r reply, q question, hc hunterCall) Answer {
	doc, bad := r.json()
	switch {
	case bad != "":
		return r.answer(lead.ClassTransient, bad, h.Now()).billed()
	case hasError(doc):
		return r.answer(lead.ClassTransient, "an error in an answer with a status of success", h.Now())
	case !doc.has("data"):
		return r.answer(lead.ClassTransient, undocumented, h.Now())
	case doc.at("data").isEmpty():
		return r.answer(lead.ClassNoData, noValue, h.Now())
	}
	a := hc.read(q, doc.at("data"))
	a.Status = r.status
	a.Billed = !hc.free(doc.at("data"))
	return a
}

// hunterEmailStates are the values of the verifier's data.status.
var hunterEmailStates = []string{"valid", "invalid", "accept_all", "webmail", "disposable", "unknown"}

// hunterUncounted are the states for which Hunter counts no verification
// (https://help.hunter.io/en/articles/1911617).
var hunterUncounted = []string{"webmail", "disposable", "unknown"}

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
