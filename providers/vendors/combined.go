package vendors

import (
	"time"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
	"backstop/providers/profile"
)

// combined turns the person and the company of an answer, either of which may be
// null, into an Answer. Clearbit and Hunter use the same form. It is
//
//   - no_data when both are null, when they hold no value, or when the person has
//     another address than the one asked about: an answer about somebody else;
//   - partial when one of the two is null or a wanted field is still open;
//   - ok otherwise.
func (v *vendor) combined(q profile.Question, person, company httpjson.Node) providers.Answer {
	if q.IsAboutAnother(person) {
		return providers.Answer{Class: lead.ClassNoData, Detail: providers.SomebodyElse}
	}
	p := lead.Profile{}
	profile.ReadPerson(p, person)
	profile.ReadCompany(p, person, company)
	detail := profile.DropMailHost(p, q.Lead)
	if len(p) == 0 {
		return providers.Answer{Class: lead.ClassNoData, Detail: profile.NoValue}
	}
	profile.Set(p, lead.PersonEmail, profile.Email(person))
	a := providers.Answer{Class: profile.Fullness(v.Want, q, p), Detail: detail, Profile: p, AsOf: v.indexedAt(person, company)}
	switch {
	case person.IsEmpty():
		a.Class, a.Detail = lead.ClassPartial, "no person"
	case company.IsEmpty():
		a.Class, a.Detail = lead.ClassPartial, "no company"
	}
	return a
}

// people is combined for an answer that has nothing but the person.
func (v *vendor) people(q profile.Question, person httpjson.Node) providers.Answer {
	a := v.combined(q, person, httpjson.Node{})
	if a.Class.HasData() {
		a.Class, a.Detail = profile.Fullness(v.Want, q, a.Profile), ""
	}
	return a
}

// companies turns a company that was asked about by its domain into an Answer.
func (v *vendor) companies(q profile.Question, domain string, company httpjson.Node) providers.Answer {
	if d := lead.NormalizeDomain(profile.Text(company.At("domain"))); d != "" && !lead.SameSite(d, domain) {
		return providers.Answer{Class: lead.ClassNoData, Detail: "answer is about another company"}
	}
	p := lead.Profile{}
	profile.ReadCompany(p, httpjson.Node{}, company)
	if len(p) == 0 || len(p) == 1 && p[lead.CompanyDomain] != "" {
		return providers.Answer{Class: lead.ClassNoData, Detail: profile.NoValue}
	}
	return providers.Answer{Class: profile.Fullness(v.Want, q, p), Profile: p, AsOf: v.indexedAt(httpjson.Node{}, company)}
}

// indexedAt is when the data was true: the older of what person and company say,
// because nothing in the answer is older than that. The zero time if neither says.
func (v *vendor) indexedAt(person, company httpjson.Node) time.Time {
	var oldest time.Time
	for _, n := range []httpjson.Node{person, company} {
		t := profile.ISOTime(profile.Text(n.At("indexedAt")))
		if t.IsZero() || t.After(v.Now().Add(24*time.Hour)) {
			continue
		}
		if oldest.IsZero() || t.Before(oldest) {
			oldest = t
		}
	}
	return oldest
}
