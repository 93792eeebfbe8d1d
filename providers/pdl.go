package providers

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"backstop/lead"
)

// pdlFacts: the limit is that of the free plan; paying customers have 1,000 a minute
// (https://docs.peopledatalabs.com/docs/reference-person-enrichment-api).
var pdlFacts = Facts{
	BaseURL: "https://api.peopledatalabs.com",
	KeyEnv:  "PDL_API_KEY",
	Limits:  []Limit{{100, minute}},

	Endpoints: []string{personEnrich},
}

// pdlStatus is the part of the table where the status decides alone
// (https://docs.peopledatalabs.com/docs/errors).
var pdlStatus = map[int]statusRow{
	400: {lead.ClassOurBug, "bad parameters"},
	401: {lead.ClassAuth, "the key was refused"},
	402: {lead.ClassQuotaExhausted, "the plan is used up"},
	405: {lead.ClassOurBug, "bad method"},
	429: {lead.ClassRateLimited, "too fast"},
}

// defaultLikelihood is what an answer must reach where nothing else is configured.
// The scale is logarithmic: at 2, which is the API's own default, the answer is the
// right person once in three to ten times, so that most of what is merged would be
// somebody else's. 6 is the middle of the scale.
const defaultLikelihood = 6

// personEnrich is the one endpoint that is asked.
const personEnrich = "person/enrich"

type pdl struct {
	vendor
	least int // the least likelihood that will do
}

// NewPDL is the Person Enrichment API of People Data Labs, version 5. It can be
// asked about leads with an email address, and about others by a profile, a phone
// number, or a name together with a company or a place.
func NewPDL(o Options) Provider {
	return &pdl{newVendor(o, pdlFacts.BaseURL), cmp.Or(o.MinLikelihood, defaultLikelihood)}
}

func (d *pdl) Name() string { return "pdl" }

func (d *pdl) Plan(l lead.Lead, missing []lead.Field) ([]Call, string) {
	q := question{l, missing}
	if person, company := q.openParts(); !person && !company {
		return nil, nothingToAdd
	}
	call, query := d.call(q)
	if query == nil {
		return nil, "has neither an address, a profile, a phone number nor a name with a company"
	}
	query.Set("min_likelihood", strconv.Itoa(d.least))
	call.Variant += " " + strconv.Itoa(d.least)
	call.Do = func(ctx context.Context) Answer { return d.find(ctx, q, query) }
	return []Call{call}, ""
}

// call is the call yet without its Do, and what identifies the person; nil if
// nothing does. With an address that is all that is sent, so that whoever asks about
// the same address asks the same: People Data Labs charges the same person twice.
func (d *pdl) call(q question) (Call, url.Values) {
	l := q.lead
	if l.Email != "" {
		return d.about(l, personEnrich), url.Values{"email": {l.Email}}
	}
	n := q.named()
	query := url.Values{}
	for _, p := range []struct{ key, value string }{
		{"profile", lead.NormalizeLinkedIn(l.LinkedIn)}, {"phone", l.Phone}, {"name", n.name},
		{"company", cmp.Or(n.domain, n.company)}, {"location", l.Location},
	} {
		if p.value != "" {
			query.Set(p.key, p.value)
		}
	}
	if !query.Has("profile") && !query.Has("phone") && !(query.Has("name") && (query.Has("company") || query.Has("location"))) {
		return Call{}, nil
	}
	c := d.aboutName(q, personEnrich)
	if n.domain != "" && n.company != "" { // of which the key has the domain only
		c.Variant += " company=" + strings.ToLower(n.company)
	}
	for _, key := range []string{"profile", "phone", "location"} { // which are not in the person's key
		if v := query.Get(key); v != "" {
			c.Variant += " " + key + "=" + strings.ToLower(v)
			c.Subject = cmp.Or(c.Subject, key+":"+strings.ToLower(v))
		}
	}
	return c, query
}

func (d *pdl) find(ctx context.Context, q question, query url.Values) Answer {
	r, failed := d.get(ctx, "/v5/"+personEnrich, query, d.sign)
	if failed != nil {
		return *failed
	}
	return d.read(r, q)
}

func (d *pdl) sign(h http.Header) { h.Set("X-Api-Key", d.APIKey) }

// read turns a reply into an Answer. A match is charged, and it is one by its
// status; who is not found costs nothing.
func (d *pdl) read(r reply, q question) Answer {
	switch r.status {
	case 200:
		return d.matched(r, q)
	case 404:
		if _, bad := r.json(); bad != "" && bad != emptyBody {
			return r.answer(lead.ClassTransient, bad, d.Now())
		}
		return r.answer(lead.ClassNoData, "no such person", d.Now())
	}
	return r.classify(pdlStatus, d.Now())
}

// matched reads a 200. The body has a status too, and where it is another one, that
// is what the answer means.
func (d *pdl) matched(r reply, q question) Answer {
	doc, bad := r.json()
	if bad != "" {
		return r.answer(lead.ClassTransient, bad, d.Now()).billed()
	}
	if inner, ok := doc.at("status").numeric(); ok && inner != 200 && inner >= 100 && inner < 600 {
		inside := r
		inside.status = int(inner)
		a := d.read(inside, q)
		a.Status = r.status
		a.Detail += fmt.Sprintf(", with status %d inside an answer with 200", inside.status)
		return a
	}
	switch {
	case hasError(doc):
		return r.answer(lead.ClassTransient, "an error in an answer with status 200", d.Now())
	case !doc.has("data"):
		return r.answer(lead.ClassTransient, undocumented, d.Now())
	}
	a := d.gated(q, doc.at("likelihood"), doc.at("data"))
	a.Status = r.status
	return a.billed()
}

// gated reads a match, if it is likely enough and about the right person.
func (d *pdl) gated(q question, likelihood, data node) Answer {
	sure, said := likelihood.numeric()
	said = said && sure >= 0 && sure <= 10
	switch {
	case data.isEmpty():
		return Answer{Class: lead.ClassNoData, Detail: noValue}
	case !data.has("id", "full_name", "first_name", "emails", "work_email", "job_title", "linkedin_url"):
		return Answer{Class: lead.ClassTransient, Detail: undocumented}
	case said && sure < float64(d.least):
		return Answer{Class: lead.ClassNoData, Detail: fmt.Sprintf("likelihood %g is below %d", sure, d.least)}
	}
	who := readMatch(data)
	if !who.isAskedBy(q, said) {
		return Answer{Class: lead.ClassNoData, Detail: somebodyElse}
	}
	p := who.profile(q)
	detail := dropMailHost(p, q.lead)
	if q.addsNothing(p) {
		return Answer{Class: lead.ClassNoData, Detail: noValue}
	}
	a := Answer{Class: d.fullness(q, p), Detail: detail, Profile: p}
	if said {
		a.Confidence = sure / 10
	}
	if t := isoTime(text(data.at("job_last_updated"))); !t.After(d.Now().Add(24 * time.Hour)) {
		a.AsOf = t
	}
	return a
}

// addsNothing reports whether a profile has no more than what was asked by.
func (q question) addsNothing(p lead.Profile) bool {
	asked := []lead.Field{lead.PersonEmail}
	if q.lead.Email == "" {
		asked = []lead.Field{lead.PersonName, lead.PersonGivenName, lead.PersonFamilyName, lead.CompanyName, lead.CompanyDomain}
	}
	for f := range p {
		if !slices.Contains(asked, f) {
			return false
		}
	}
	return true
}
