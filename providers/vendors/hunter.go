package vendors

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/described"
	"backstop/providers/httpjson"
	"backstop/providers/profile"
	"backstop/resilience"
)

// hunterFacts: the limits are those of the e-mail verifier, the strictest of the
// endpoints asked here; the others allow 15 a second and 500 a minute
// (https://hunter.io/api-documentation/v2#email-verifier).
var hunterFacts = described.Facts{
	BaseURL: "https://api.hunter.io",
	KeyEnv:  "HUNTER_API_KEY",
	Limits:  []resilience.Limit{{Rate: 10, Per: time.Second}, {Rate: 300, Per: time.Minute}},

	Endpoints: []string{combinedFind, companiesFind, emailFinder, emailVerifier, peopleFind},
}

// hunterStatus is the part of Hunter's table where the status decides alone
// (https://hunter.io/api-documentation/v2#errors). It uses 403 and 429 the other
// way round from most: 403 is "too fast" and 429 is "used up".
var hunterStatus = map[int]httpjson.StatusRow{
	222: {Class: lead.ClassTransient, Detail: "the mail server answered strangely: a 2xx without data"},
	400: {Class: lead.ClassOurBug, Detail: "bad parameters"},
	401: {Class: lead.ClassAuth, Detail: "the key was refused"},
	403: {Class: lead.ClassRateLimited, Detail: "too fast"},
	422: {Class: lead.ClassInvalidInput, Detail: "not acceptable"},
	429: {Class: lead.ClassQuotaExhausted, Detail: "the plan is used up"},
	451: {Class: lead.ClassForbidden, Detail: "the person asked not to be processed"},
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
func NewHunter(o httpjson.Options) providers.Provider {
	return &hunter{newVendor(o, hunterFacts.BaseURL)}
}

func (h *hunter) Name() string { return "hunter" }

// A hunterCall is what differs between the endpoints.
type hunterCall struct {
	path  string
	query url.Values
	read  func(profile.Question, httpjson.Node) providers.Answer
	free  func(data httpjson.Node) bool // whether an answer with this data costs nothing
}

func (h *hunter) Plan(l lead.Lead, missing []lead.Field) (calls []providers.Call, why string) {
	q := profile.Question{Lead: l, Missing: missing}
	add := func(c providers.Call, hc hunterCall) {
		c.Do = func(ctx context.Context) providers.Answer { return h.ask(ctx, q, hc) }
		calls = append(calls, c)
	}
	if n := q.Named(); seeksAddress(q) {
		add(profile.AboutName(h.Base, q, emailFinder), h.finder(n))
	}
	c, why := h.planEnrichment(q)
	if why == "" {
		add(c, h.enrichment(q, c.Endpoint))
	}
	if slices.Contains(missing, lead.PersonEmailStatus) && l.Email != "" {
		add(profile.About(h.Base, l, emailVerifier), h.verifier(q))
	}
	if len(calls) > 0 {
		why = ""
	}
	return calls, why
}

func (h *hunter) enrichment(q profile.Question, endpoint string) hunterCall {
	query := url.Values{"email": {q.Lead.Email}}
	if endpoint == companiesFind {
		query = url.Values{"domain": {q.Domain()}}
	}
	return hunterCall{
		path: "/v2/" + endpoint, query: query,
		read: func(q profile.Question, data httpjson.Node) providers.Answer { return h.enriched(q, endpoint, data) },
		free: func(data httpjson.Node) bool {
			return endpoint == combinedFind && data.At("person").IsEmpty() && data.At("company").IsEmpty()
		},
	}
}

func (h *hunter) verifier(q profile.Question) hunterCall {
	return hunterCall{
		path: "/v2/" + emailVerifier, query: url.Values{"email": {q.Lead.Email}}, read: h.verified,
		free: func(data httpjson.Node) bool {
			return slices.Contains(hunterUncounted, profile.Text(data.At("status")))
		},
	}
}

// ask makes a request. When the plan is used up and the answer does not say until
// when, it asks for that date too.
func (h *hunter) ask(ctx context.Context, q profile.Question, hc hunterCall) providers.Answer {
	r, failed := h.Get(ctx, hc.path, hc.query, h.sign)
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
	r, failed := h.Get(ctx, "/v2/account", nil, h.sign)
	if failed != nil || r.Status != http.StatusOK {
		return time.Time{}
	}
	return h.resetDate(r)
}

// resetDate reads the answer of /account. A date that is past, or none, is zero.
func (h *hunter) resetDate(r httpjson.Reply) time.Time {
	doc, bad := r.JSON()
	now := h.Now()
	t := profile.ISOTime(profile.Text(doc.At("data", "reset_date")))
	if bad != "" || !t.After(now) {
		return time.Time{}
	}
	return now.Add(min(t.Sub(now), httpjson.MaxQuota))
}

func (h *hunter) sign(header http.Header) { header.Set("X-API-KEY", h.APIKey) }

func (h *hunter) read(r httpjson.Reply, q profile.Question, hc hunterCall) providers.Answer {
	switch r.Status {
	case 200, 201:
		return h.data(r, q, hc)
	case 202:
		return h.pending(r)
	case 404:
		return h.unknown(r)
	}
	return r.Classify(hunterStatus, h.Now())
}

// data reads an answer with data. It is charged unless it has nothing in it; one
// that cannot be read may have been charged.
func (h *hunter) data(r httpjson.Reply, q profile.Question, hc hunterCall) providers.Answer {
	doc, bad := r.JSON()
	switch {
	case bad != "":
		return r.Answer(lead.ClassTransient, bad, h.Now()).Charged()
	case hasError(doc):
		return r.Answer(lead.ClassTransient, "an error in an answer with a status of success", h.Now())
	case !doc.Has("data"):
		return r.Answer(lead.ClassTransient, httpjson.Undocumented, h.Now())
	case doc.At("data").IsEmpty():
		return r.Answer(lead.ClassNoData, profile.NoValue, h.Now())
	}
	a := hc.read(q, doc.At("data"))
	a.Status = r.Status
	a.Billed = !hc.free(doc.At("data"))
	return a
}

// hunterUncounted are the states for which Hunter counts no verification
// (https://help.hunter.io/en/articles/1911617).
var hunterUncounted = []string{"webmail", "disposable", "unknown"}

func (h *hunter) verified(q profile.Question, data httpjson.Node) providers.Answer {
	if !data.Has("status") {
		return providers.Answer{Class: lead.ClassTransient, Detail: httpjson.Undocumented}
	}
	if q.IsAboutAnother(data) {
		return providers.Answer{Class: lead.ClassNoData, Detail: providers.SomebodyElse}
	}
	state := profile.Text(data.At("status"))
	if !slices.Contains(profile.EmailStates, state) {
		return providers.Answer{Class: lead.ClassNoData, Detail: "a state of the address that is not documented"}
	}
	p := lead.Profile{lead.PersonEmailStatus: state}
	return providers.Answer{Class: profile.Fullness(h.Want, q, p), Profile: p}
}

// pending reads a 202: a verification still runs. Asking again is not charged.
func (h *hunter) pending(r httpjson.Reply) providers.Answer {
	doc, bad := r.JSON()
	switch {
	case bad != "" && bad != httpjson.EmptyBody:
		return r.Answer(lead.ClassTransient, bad, h.Now())
	case hasError(doc):
		return r.Answer(lead.ClassTransient, "an error in an answer with status 202", h.Now())
	}
	return r.Answer(lead.ClassPending, "being verified", h.Now())
}

// unknown reads a 404. A page of HTML is not Hunter's answer.
func (h *hunter) unknown(r httpjson.Reply) providers.Answer {
	if _, bad := r.JSON(); bad != "" && bad != httpjson.EmptyBody {
		return r.Answer(lead.ClassTransient, bad, h.Now())
	}
	return r.Answer(lead.ClassNoData, "nothing known", h.Now())
}
