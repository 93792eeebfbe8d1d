package sandbox

import (
	"fmt"
	"math/rand/v2"

	"backstop/lead"
)

// SampleLeads makes n leads as a sales team would have them: people of many
// places, some at the same company, some with a free-mail address, some with a
// title or a domain already there, and some known only by name and company. The
// same seed gives the same leads, all different from each other and normalised.
func SampleLeads(n int, seed uint64) []lead.Lead {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	leads := make([]lead.Lead, n)
	for i := range leads {
		leads[i] = sampleLead(r, i)
	}
	return leads
}

func sampleLead(r *rand.Rand, i int) lead.Lead {
	given, family := givenNames[r.IntN(len(givenNames))], familyNames[r.IntN(len(familyNames))]
	company := firstWords[r.IntN(len(firstWords))] + " " + secondWords[r.IntN(len(secondWords))]
	l := lead.Lead{
		Source: "sample", SourceID: fmt.Sprintf("L-%06d", i+1),
		Name: given + " " + family, GivenName: given, FamilyName: family, Company: company,
	}
	local := fmt.Sprintf("%s.%s.%d", handle(given), handle(family), i+1)
	switch c := r.Float64(); {
	case c < 0.06: // no address
	case c < 0.18:
		l.Email = local + "@" + freeHosts[r.IntN(len(freeHosts))]
	default:
		l.Email = local + "@" + domainOf(company)
	}
	if r.Float64() < 0.25 {
		l.Title = jobs[r.IntN(len(jobs))].title
	}
	if r.Float64() < 0.3 {
		l.Domain = domainOf(company)
	}
	if r.Float64() < 0.15 {
		l.LinkedIn = "linkedin.com/in/" + handle(given+family)
	}
	if r.Float64() < 0.2 {
		l.Location = places[r.IntN(len(places))].String()
	}
	if l.Email != "" && r.Float64() < 0.1 { // only the address, as from a sign-up form
		l.Name, l.GivenName, l.FamilyName, l.Company, l.Domain = "", "", "", "", ""
	}
	return l
}
