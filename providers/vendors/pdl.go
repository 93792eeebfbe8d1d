package vendors

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
	"backstop/providers"
	"backstop/providers/described"
	"backstop/providers/httpjson"
	"backstop/providers/profile"
	"backstop/resilience"
)

// pdlFacts: the limit is that of the free plan; paying customers have 1,000 a minute
// (https://docs.peopledatalabs.com/docs/reference-person-enrichment-api).
var pdlFacts = described.Facts{
	BaseURL: "https://api.peopledatalabs.com",
	KeyEnv:  "PDL_API_KEY",
	Limits:  []resilience.Limit{{Rate: 100, Per: time.Minute}},

	Endpoints: []string{personEnrich},
}

// pdlStatus is the part of the table where the status decides alone
// (https://docs.peopledatalabs.com/docs/errors).
var pdlStatus = map[int]httpjson.StatusRow{
	400: {Class: lead.ClassOurBug, Detail: "bad parameters"},
	401: {Class: lead.ClassAuth, Detail: "the key was refused"},
	402: {Class: lead.ClassQuotaExhausted, Detail: "the plan is used up"},
	405: {Class: lead.ClassOurBug, Detail: "bad method"},
	429: {Class: lead.ClassRateLimited, Detail: "too fast"},
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
func NewPDL(o httpjson.Options) providers.Provider {
	return &pdl{newVendor(o, pdlFacts.BaseURL), cmp.Or(o.MinLikelihood, defaultLikelihood)}
}

func (d *pdl) Name() string { return "pdl" }

func (d *pdl) Plan(l lead.Lead, missing []lead.Field) ([]providers.Call, string) {
	q := profile.Question{Lead: l, Missing: missing}
	if person, company := openParts(q); !person && !company {
		return nil, profile.NothingToAdd
	}
	call, query := d.call(q)
	if query == nil {
		return nil, "has neither an address, a profile, a phone number nor a name with a company"
	}
	query.Set("min_likelihood", strconv.Itoa(d.least))
	call.Variant += " " + strconv.Itoa(d.least)
	call.Do = func(ctx context.Context) providers.Answer { return d.find(ctx, q, query) }
	return []providers.Call{call}, ""
}

// call is the call yet without its Do, and what identifies the person; nil if
// nothing does. With an address that is all that is sent, so that whoever asks about
// the same address asks the same: People Data Labs charges the same person twice.
func (d *pdl) call(q profile.Question) (providers.Call, url.Values) {
	l := q.Lead
	if l.Email != "" {
		return profile.About(d.Base, l, personEnrich), url.Values{"email": {l.Email}}
	}
	n := q.Named()
	query := url.Values{}
	for _, p := range []struct{ key, value string }{
		{"profile", lead.NormalizeLinkedIn(l.LinkedIn)}, {"phone", l.Phone}, {"name", n.Name},
		{"company", cmp.Or(n.Domain, n.Company)}, {"location", l.Location},
	} {
		if p.value != "" {
			query.Set(p.key, p.value)
		}
	}
	if !query.Has("profile") && !query.Has("phone") && !(query.Has("name") && (query.Has("company") || query.Has("location"))) {
		return providers.Call{}, nil
	}
	c := profile.AboutName(d.Base, q, personEnrich)
	if n.Domain != "" && n.Company != "" { // of which the key has the domain only
		c.Variant += " company=" + strings.ToLower(n.Company)
	}
	for _, key := range []string{"profile", "phone", "location"} { // which are not in the person's key
		if v := query.Get(key); v != "" {
			c.Variant += " " + key + "=" + strings.ToLower(v)
			c.Subject = cmp.Or(c.Subject, key+":"+strings.ToLower(v))
		}
	}
	return c, query
}

func (d *pdl) find(ctx context.Context, q profile.Question, query url.Values) providers.Answer {
	r, failed := d.Get(ctx, "/v5/"+personEnrich, query, d.sign)
	if failed != nil {
		return *failed
	}
	return d.read(r, q)
}

func (d *pdl) sign(h http.Header) { h.Set("X-Api-Key", d.APIKey) }

// read turns a reply into an Answer. A match is charged, and it is one by its
// status; who is not found costs nothing.
func (d *pdl) read(r httpjson.Reply, q profile.Question) providers.Answer {
	switch r.Status {
	case 200:
		return d.matched(r, q)
	case 404:
		if _, bad := r.JSON(); bad != "" && bad != httpjson.EmptyBody {
			return r.Answer(lead.ClassTransient, bad, d.Now())
		}
		return r.Answer(lead.ClassNoData, "no such person", d.Now())
	}
	return r.Classify(pdlStatus, d.Now())
}

// matched reads a 200. The body has a status too, and where it is another one, that
// is what the answer means.
func (d *pdl) matched(r httpjson.Reply, q profile.Question) providers.Answer {
	doc, bad := r.JSON()
	if bad != "" {
		return r.Answer(lead.ClassTransient, bad, d.Now()).Charged()
	}
	if inner, ok := doc.At("status").Numeric(); ok && inner != 200 && inner >= 100 && inner < 600 {
		inside := r
		inside.Status = int(inner)
		a := d.read(inside, q)
		a.Status = r.Status
		a.Detail += fmt.Sprintf(", with status %d inside an answer with 200", inside.Status)
		return a
	}
	switch {
	case hasError(doc):
		return r.Answer(lead.ClassTransient, "an error in an answer with status 200", d.Now())
	case !doc.Has("data"):
		return r.Answer(lead.ClassTransient, httpjson.Undocumented, d.Now())
	}
	a := d.gated(q, doc.At("likelihood"), doc.At("data"))
	a.Status = r.Status
	return a.Charged()
}

// gated reads a match, if it is likely enough and about the right person.
func (d *pdl) gated(q profile.Question, likelihood, data httpjson.Node) providers.Answer {
	sure, said := likelihood.Numeric()
	said = said && sure >= 0 && sure <= 10
	switch {
	case data.IsEmpty():
		return providers.Answer{Class: lead.ClassNoData, Detail: profile.NoValue}
	case !data.Has("id", "full_name", "first_name", "emails", "work_email", "job_title", "linkedin_url"):
		return providers.Answer{Class: lead.ClassTransient, Detail: httpjson.Undocumented}
	case said && sure < float64(d.least):
		return providers.Answer{Class: lead.ClassNoData, Detail: fmt.Sprintf("likelihood %g is below %d", sure, d.least)}
	}
	who := readMatch(data)
	if !who.isAskedBy(q, said) {
		return providers.Answer{Class: lead.ClassNoData, Detail: providers.SomebodyElse}
	}
	p := who.profile(q)
	detail := profile.DropMailHost(p, q.Lead)
	if addsNothing(q, p) {
		return providers.Answer{Class: lead.ClassNoData, Detail: profile.NoValue}
	}
	a := providers.Answer{Class: profile.Fullness(d.Want, q, p), Detail: detail, Profile: p}
	if said {
		a.Confidence = sure / 10
	}
	if t := profile.ISOTime(profile.Text(data.At("job_last_updated"))); !t.After(d.Now().Add(24 * time.Hour)) {
		a.AsOf = t
	}
	return a
}

// addsNothing reports whether a profile has no more than what was asked by.
func addsNothing(q profile.Question, p lead.Profile) bool {
	asked := []lead.Field{lead.PersonEmail}
	if q.Lead.Email == "" {
		asked = []lead.Field{lead.PersonName, lead.PersonGivenName, lead.PersonFamilyName, lead.CompanyName, lead.CompanyDomain}
	}
	for f := range p {
		if !slices.Contains(asked, f) {
			return false
		}
	}
	return true
}
