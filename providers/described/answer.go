package described

import (
	"slices"
	"strings"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
	"backstop/providers/profile"
)

// read classifies a reply by the first row of the table that matches it. doc is
// its body, if that is a JSON document.
func (d *described) read(r httpjson.Reply, i inquiry) (a providers.Answer, doc httpjson.Node) {
	doc, bad := r.JSON()
	var body *httpjson.Node
	if bad == "" {
		body = &doc
	}
	n := slices.IndexFunc(d.answers, func(row answerRow) bool { return row.matches(r.Status, body) })
	if n < 0 {
		return d.unlisted(r, bad), doc
	}
	row := d.answers[n]
	switch {
	case row.needsBody() && bad != "" && bad != httpjson.EmptyBody:
		return r.Answer(lead.ClassTransient, bad, d.Now()), doc
	case row.class == lead.ClassOK:
		a = d.found(doc, i)
		a.Status = r.Status
	default:
		a = r.Answer(row.class, row.detail, d.Now())
		a.Wait = max(a.Wait, row.wait)
	}
	a.Billed = row.billed
	return a, doc
}

// unlisted is the Answer to a reply that no row is about. A status of success
// whose body is not in the documented form is the server's trouble.
func (d *described) unlisted(r httpjson.Reply, bad string) providers.Answer {
	expected := slices.ContainsFunc(d.answers, func(row answerRow) bool { return row.needsBody() && row.hasStatus(r.Status) })
	switch {
	case expected && bad != "":
		return r.Answer(lead.ClassTransient, bad, d.Now())
	case expected:
		return r.Answer(lead.ClassTransient, httpjson.Undocumented, d.Now())
	}
	return r.Classify(nil, d.Now())
}

// found reads an answer that has data. It is no_data when it is about somebody
// else, and when it says nothing but what it was asked by.
func (d *described) found(doc httpjson.Node, i inquiry) providers.Answer {
	p := d.profile(doc)
	if d.isAboutSomebodyElse(doc, p, i) {
		return providers.Answer{Class: lead.ClassNoData, Detail: providers.SomebodyElse}
	}
	detail := profile.DropMailHost(p, i.Lead)
	if isEcho(p, i) {
		return providers.Answer{Class: lead.ClassNoData, Detail: profile.NoValue}
	}
	return providers.Answer{
		Class: profile.Fullness(d.Want, i.Question, p), Detail: detail, Profile: p,
		AsOf: when(d.asOf, doc, d.Now()), Confidence: d.confidence.value(doc),
	}
}

// isAboutSomebodyElse holds an answer against what it was asked by: the address,
// or else the name and the company, or else the profile or the company alone.
// Where an answer to a question by anything but a name does not say, nothing speaks
// against it.
func (d *described) isAboutSomebodyElse(doc httpjson.Node, p lead.Profile, i inquiry) bool {
	name := identified(d.identity.name, doc, p[lead.PersonName], profile.Text)[0]
	domain := identified(d.identity.domain, doc, p[lead.CompanyDomain], func(n httpjson.Node) string { return lead.NormalizeDomain(profile.Text(n)) })[0]
	asked := i.Named()
	switch {
	case i.set.has("email"):
		emails := identified(d.identity.email, doc, p[lead.PersonEmail], profile.Address)
		return emails[0] != "" && !slices.ContainsFunc(emails, i.hasEmail) || lead.NamesContradict(asked.Name, name)
	case asked.Name != "":
		return !asked.Agrees(name, domain, p[lead.CompanyName])
	case i.set.has("linkedin"):
		answered := p[lead.PersonLinkedIn]
		return answered != "" && !strings.EqualFold(answered, i.words["linkedin"])
	case i.set.has("domain"):
		return domain != "" && !lead.SameSite(i.words["domain"], domain)
	}
	return false
}

func (i inquiry) hasEmail(answered string) bool {
	asked, err := lead.NormalizeEmail(i.words["email"])
	return err == nil && lead.EmailKey(answered) == lead.EmailKey(asked)
}

// identified is what the answer says at the paths, or in its fields if there are
// none; never empty.
func identified(paths []jsonPath, doc httpjson.Node, field string, read func(httpjson.Node) string) []string {
	var said []string
	for _, p := range paths {
		for _, n := range p.find(doc) {
			if s := read(n); s != "" {
				said = append(said, s)
			}
		}
	}
	if len(said) == 0 {
		return []string{field}
	}
	return said
}

// echoes are the fields that say nothing new when they hold what was asked by.
var echoes = map[lead.Field]string{
	lead.PersonEmail: "email", lead.PersonName: "name", lead.PersonLinkedIn: "linkedin", lead.PersonPhone: "phone",
	lead.CompanyName: "company", lead.CompanyDomain: "domain",
}

// isEcho reports whether a profile holds nothing but what was asked by.
func isEcho(p lead.Profile, i inquiry) bool {
	for f, v := range p {
		if (f == lead.PersonGivenName || f == lead.PersonFamilyName) && i.set.has("name") {
			continue
		}
		if asked := i.words[echoes[f]]; asked == "" || !lead.SameValue(f, asked, v) {
			return false
		}
	}
	return true
}
