package providers

import (
	"slices"
	"strings"

	"backstop/lead"
)

// read classifies a reply by the first row of the table that matches it. doc is
// its body, if that is a JSON document.
func (d *described) read(r reply, i inquiry) (a Answer, doc node) {
	doc, bad := r.json()
	var body *node
	if bad == "" {
		body = &doc
	}
	n := slices.IndexFunc(d.answers, func(row answerRow) bool { return row.matches(r.status, body) })
	if n < 0 {
		return d.unlisted(r, bad), doc
	}
	row := d.answers[n]
	switch {
	case row.needsBody() && bad != "" && bad != emptyBody:
		return r.answer(lead.ClassTransient, bad, d.Now()), doc
	case row.class == lead.ClassOK:
		a = d.found(doc, i)
		a.Status = r.status
	default:
		a = r.answer(row.class, row.detail, d.Now())
		a.Wait = max(a.Wait, row.wait)
	}
	a.Billed = row.billed
	return a, doc
}

// unlisted is the Answer to a reply that no row is about. A status of success
// whose body is not in the documented form is the server's trouble.
func (d *described) unlisted(r reply, bad string) Answer {
	expected := slices.ContainsFunc(d.answers, func(row answerRow) bool { return row.needsBody() && row.hasStatus(r.status) })
	switch {
	case expected && bad != "":
		return r.answer(lead.ClassTransient, bad, d.Now())
	case expected:
		return r.answer(lead.ClassTransient, undocumented, d.Now())
	}
	return r.classify(nil, d.Now())
}

// found reads an answer that has data. It is no_data when it is about somebody
// else, and when it says nothing but what it was asked by.
func (d *described) found(doc node, i inquiry) Answer {
	p := d.profile(doc)
	if d.isAboutSomebodyElse(doc, p, i) {
		return Answer{Class: lead.ClassNoData, Detail: somebodyElse}
	}
	detail := dropMailHost(p, i.lead)
	if isEcho(p, i) {
		return Answer{Class: lead.ClassNoData, Detail: noValue}
	}
	return Answer{
		Class: d.fullness(i.question, p), Detail: detail, Profile: p,
		AsOf: when(d.asOf, doc, d.Now()), Confidence: d.confidence.value(doc),
	}
}

// isAboutSomebodyElse holds an answer against what it was asked by: the address,
// or else the name and the company, or else the profile or the company alone.
// Where an answer to a question by anything but a name does not say, nothing speaks
// against it.
func (d *described) isAboutSomebodyElse(doc node, p lead.Profile, i inquiry) bool {
	name := identified(d.identity.name, doc, p[lead.PersonName], text)[0]
	domain := identified(d.identity.domain, doc, p[lead.CompanyDomain], func(n node) string { return lead.NormalizeDomain(text(n)) })[0]
	asked := i.named()
	switch {
	case i.set.has("email"):
		emails := identified(d.identity.email, doc, p[lead.PersonEmail], address)
		return emails[0] != "" && !slices.ContainsFunc(emails, i.hasEmail) || lead.NamesContradict(asked.name, name)
	case asked.name != "":
		return !asked.agrees(name, domain, p[lead.CompanyName])
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
func identified(paths []jsonPath, doc node, field string, read func(node) string) []string {
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
