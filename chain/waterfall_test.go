package chain_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"backstop/chain"
	"backstop/lead"
)

const (
	name    = lead.PersonName
	title   = lead.PersonTitle
	company = lead.CompanyName
	domain  = lead.CompanyDomain
	email   = lead.PersonEmail
	state   = lead.PersonEmailStatus
)

// about puts another lead than someLead before the chain.
func (c *course) about(l lead.Lead, want ...lead.Field) {
	c.lead, c.chain.Want = l, want
	c.progress = chain.NewProgress(l, 1, time.Now())
}

func (c *course) rule(p *scripted, r chain.Rule) {
	if c.chain.Rules == nil {
		c.chain.Rules = map[string]chain.Rule{}
	}
	c.chain.Rules[p.name] = r
}

func fields(f ...lead.Field) []lead.Field { return f }

func TestAWaterfallAsksForWhatIsMissing(t *testing.T) {
	inBubble(t, map[string]func(*testing.T){
		"each provider is asked for what those before it left open": func(t *testing.T) {
			a, b, d := provider("a", says(lead.ClassPartial, name)), provider("b", says(lead.ClassPartial, title)), provider("d", says(lead.ClassOK, company))
			c := newCourse(a, b, d)
			c.about(someLead, name, title, company)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "first", a.made[0].missing, fields(name, title, company))
			equal(t, "second", b.made[0].missing, fields(title, company))
			equal(t, "third", d.made[0].missing, fields(company))
		},
		"each endpoint too": func(t *testing.T) {
			a := provider("a", says(lead.ClassPartial, name), says(lead.ClassPartial, company))
			a.endpoints = []string{"person", "company"}
			c := newCourse(a)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "second call", a.made[1].missing, fields(company))
		},
		"nobody is asked once nothing is missing": func(t *testing.T) {
			a, b := provider("a", knows), provider("b", knows)
			a.endpoints = []string{"one", "two"}
			c := newCourse(a, b)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "calls", []int{len(a.made), len(b.made)}, []int{1, 0})
		},
		"what was found is what the next one is asked by": func(t *testing.T) {
			a, b := provider("a", tells(lead.Profile{email: "ann@acme.com", domain: "acme.com", lead.PersonLinkedIn: "linkedin.com/in/ann"})), provider("b", says(lead.ClassNoData))
			c := newCourse(a, b)
			c.about(lead.Lead{Name: "Ann Roe"}, name, title)
			c.run(t)
			equal(t, "lead", b.made[0].lead, lead.Lead{Name: "Ann Roe", Email: "ann@acme.com", Domain: "acme.com", LinkedIn: "linkedin.com/in/ann"})
		},
		"what overwrote the lead's own is, too": func(t *testing.T) {
			a, b := provider("a", tells(lead.Profile{email: "new@acme.com", state: lead.EmailValid, title: "CTO"})), provider("b", says(lead.ClassNoData))
			c := newCourse(a, b)
			c.chain.Overwrite = fields(email)
			c.about(lead.Lead{Name: "Ann Roe", Email: "old@acme.com", Title: "CEO"}, company)
			c.run(t)
			equal(t, "asked by", b.made[0].lead.Email, "new@acme.com")
			equal(t, "not overwritten", c.progress.Facts.Profile[title], "CEO")
			equal(t, "conflicts in the trail", c.trail[0].Conflicts, map[lead.Field]string{title: "CTO"})
		},
	})
}

func TestAFoundAddressIsNotAVerifiedOne(t *testing.T) {
	x, y := lead.Profile{email: "x@acme.com"}, lead.Profile{email: "y@acme.com", state: lead.EmailValid}
	said := func(s string) answer { return tells(lead.Profile{state: s}) }
	ann := lead.Lead{Name: "Ann Roe", Domain: "acme.com"}
	inBubble(t, map[string]func(*testing.T){
		"a verified one is the end": func(t *testing.T) {
			finder, next := provider("finder", tells(y)), provider("next", tells(x))
			c := newCourse(finder, next)
			c.about(ann, email)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "next", len(next.made), 0)
		},
		"one that was only found is looked at": func(t *testing.T) {
			finder, verifier, next := provider("finder", tells(x)), provider("verifier", said(lead.EmailValid)), provider("next", tells(y))
			c := newCourse(finder, verifier, next)
			c.about(ann, email)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "the verifier is asked for", verifier.made[0].missing, fields(state))
			equal(t, "the verifier is asked about", verifier.made[0].lead.Email, "x@acme.com")
			equal(t, "next", len(next.made), 0)
		},
		"an uncertain one is replaced by a verified one": func(t *testing.T) {
			finder, verifier, next, last := provider("finder", tells(x)), provider("verifier", said("accept_all")), provider("next", tells(y)), provider("last", knows)
			c := newCourse(finder, verifier, next, last)
			c.roundTrip = true
			c.about(ann, email)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "next is asked for", next.made[0].missing, fields(email))
			equal(t, "address", c.progress.Facts.Profile[email], "y@acme.com")
			equal(t, "state", c.progress.Facts.Profile[state], lead.EmailValid)
			equal(t, "last", len(last.made), 0)
		},
		"one that does not exist is not found twice": func(t *testing.T) {
			finder, verifier, next := provider("finder", tells(x)), provider("verifier", said(lead.EmailInvalid)), provider("next", tells(x))
			c := newCourse(finder, verifier, next)
			c.roundTrip = true
			c.about(ann, email)
			equal(t, "verdict", c.run(t).Kind, negative)
			equal(t, "next is asked for", next.made[0].missing, fields(email))
			equal(t, "next is asked about", next.made[0].lead.Email, "")
			equal(t, "address", c.progress.Facts.Profile[email], "")
			equal(t, "dropped", c.trail[1].Conflicts[email], "x@acme.com")
			equal(t, "found again", c.trail[2].Conflicts[email], "x@acme.com")
		},
		"an uncertain one is kept where nobody has a better one": func(t *testing.T) {
			finder, next := provider("finder", tells(lead.Profile{email: "x@acme.com", state: "accept_all"})), provider("next", says(lead.ClassNoData))
			c := newCourse(finder, next)
			c.about(ann, email)
			equal(t, "verdict", c.run(t).Kind, negative)
			equal(t, "address", c.progress.Facts.Profile[email], "x@acme.com")
		},
	})
}

func TestRules(t *testing.T) {
	tests := map[string]func(*testing.T){
		"fills: it is asked for these alone": func(t *testing.T) {
			a := provider("a", says(lead.ClassNoData))
			c := newCourse(a)
			c.about(someLead, name, title, company)
			c.rule(a, chain.Rule{Fills: fields(company, name, domain)})
			c.run(t)
			equal(t, "asked for", a.made[0].missing, fields(name, company))
		},
		"fills: it is passed over when none is missing, which is no failure": func(t *testing.T) {
			a, b := provider("a", knows), provider("b", says(lead.ClassNoData))
			c := newCourse(a, b)
			c.rule(a, chain.Rule{Fills: fields(title)})
			equal(t, "verdict", c.run(t).Kind, negative)
			equal(t, "calls", []int{len(a.made), len(b.made)}, []int{0, 1})
			equal(t, "trail", []string{string(c.trail[0].Class), c.trail[0].Detail}, []string{"invalid_input", "nothing is missing that it fills"})
		},
		"what is passed over spoils no failure's end": func(t *testing.T) {
			a, b := provider("a", knows), provider("b", says(lead.ClassAuth))
			c := newCourse(a, b)
			c.rule(a, chain.Rule{Fills: fields(title)})
			equal(t, "verdict", c.run(t).Kind, exhausted)
		},
		"what is passed over stays so after a retry": func(t *testing.T) {
			a, b := provider("a", knows), provider("b", tells(lead.Profile{lead.PersonLinkedIn: "linkedin.com/in/ann"}), errs, knows)
			b.endpoints = []string{"one", "two"}
			c := newCourse(a, b)
			c.roundTrip = true
			c.rule(a, chain.Rule{OnlyIf: []chain.Condition{chain.HasLinkedIn}})
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "calls", []int{len(a.made), len(b.made)}, []int{0, 3})
		},
		"conditions: what earlier providers found counts": func(t *testing.T) {
			a, b := provider("a", tells(lead.Profile{email: "ann@acme.com"})), provider("b", knows)
			c := newCourse(a, b)
			c.about(lead.Lead{Name: "Ann"}, company)
			c.rule(b, chain.Rule{OnlyIf: []chain.Condition{chain.HasEmail, chain.HasDomain}})
			equal(t, "verdict", c.run(t).Kind, full)
		},
		"conditions: all have to be met": func(t *testing.T) {
			a := provider("a", knows)
			c := newCourse(a)
			c.rule(a, chain.Rule{OnlyIf: []chain.Condition{chain.HasEmail, chain.HasLinkedIn}})
			equal(t, "verdict", c.run(t).Kind, negative)
			equal(t, "calls", len(a.made), 0)
		},
		"one that answered is not said to have nothing to do": func(t *testing.T) {
			a := provider("a", says(lead.ClassOK, name))
			c := newCourse(a)
			c.rule(a, chain.Rule{Fills: fields(name)})
			equal(t, "verdict", c.run(t).Kind, negative)
			equal(t, "trail", len(c.trail), 1)
		},
		"a lead that came full is confirmed under the rules": func(t *testing.T) {
			a, b := provider("a", knows), provider("b", knows)
			c := newCourse(a, b)
			c.about(lead.Lead{Email: "ann@example.com", Name: "Ann", Company: "Acme"}, name, company)
			c.rule(a, chain.Rule{OnlyIf: []chain.Condition{chain.HasLinkedIn}})
			c.rule(b, chain.Rule{Fills: fields(company)})
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "calls", []int{len(a.made), len(b.made)}, []int{0, 1})
			equal(t, "asked for", b.made[0].missing, fields(company))
		},
	}
	inBubble(t, tests)
}

func TestConditions(t *testing.T) {
	for _, tt := range []struct {
		condition chain.Condition
		lead      lead.Lead
		why       string
	}{
		{chain.HasEmail, lead.Lead{Email: "ann@acme.com"}, ""},
		{chain.HasEmail, lead.Lead{Name: "Ann"}, "only asked if has email"},
		{chain.HasName, lead.Lead{Name: "Ann"}, ""},
		{chain.HasName, lead.Lead{Email: "ann@acme.com"}, "only asked if has name"},
		{chain.HasCompany, lead.Lead{Name: "Ann", Company: "Acme"}, ""},
		{chain.HasCompany, lead.Lead{Name: "Ann", Domain: "acme.com"}, ""},
		{chain.HasCompany, lead.Lead{Email: "ann@acme.com"}, ""},
		{chain.HasCompany, lead.Lead{Email: "ann@gmail.com"}, "only asked if has company"},
		{chain.HasDomain, lead.Lead{Name: "Ann", Domain: "acme.com"}, ""},
		{chain.HasDomain, lead.Lead{Email: "ann@acme.com"}, ""},
		{chain.HasDomain, lead.Lead{Name: "Ann", Company: "Acme"}, "only asked if has domain"},
		{chain.HasLinkedIn, lead.Lead{Name: "Ann", LinkedIn: "linkedin.com/in/ann"}, ""},
		{chain.HasLinkedIn, lead.Lead{Name: "Ann"}, "only asked if has linkedin"},
		{chain.NotFreeMail, lead.Lead{Email: "ann@acme.com"}, ""},
		{chain.NotFreeMail, lead.Lead{Name: "Ann"}, ""},
		{chain.NotFreeMail, lead.Lead{Email: "ann@gmail.com"}, "only asked if not free mail"},
		{chain.NotRole, lead.Lead{Email: "ann@acme.com"}, ""},
		{chain.NotRole, lead.Lead{Email: "sales@acme.com"}, "only asked if not role"},
		{"no such", lead.Lead{Email: "ann@acme.com"}, "only asked if no such"},
	} {
		a := provider("a", says(lead.ClassNoData))
		c := newCourse(a)
		c.about(tt.lead, title)
		c.rule(a, chain.Rule{OnlyIf: []chain.Condition{tt.condition}})
		equal(t, "verdict", c.run(t).Kind, negative)
		equal(t, string(tt.condition)+" of "+tt.lead.Email+" "+tt.lead.Name+" is met", len(a.made) > 0, tt.why == "")
		equal(t, string(tt.condition), c.trail[0].Detail, tt.why)
	}
}

func TestPeopleWhoAreNotToBeProcessed(t *testing.T) {
	x := lead.Profile{email: "X@acme.com", name: "Ann Xenia"}
	asked := func(c *course, suppressed string) *[]string {
		var seen []string
		c.chain.IsSuppressed = func(_ context.Context, address string) (bool, error) {
			seen = append(seen, address)
			return address == suppressed, nil
		}
		return &seen
	}
	inBubble(t, map[string]func(*testing.T){
		"are recognized by the address that a provider finds": func(t *testing.T) {
			a, b := provider("a", says(lead.ClassPartial, title)), provider("b", tells(x))
			c := newCourse(a, b, provider("d", knows))
			c.about(lead.Lead{Name: "Ann"}, company)
			seen := asked(c, "x@acme.com")
			equal(t, "verdict", c.run(t).Kind, suppress)
			equal(t, "looked for", *seen, []string{"x@acme.com"})
			equal(t, "facts", c.progress.Facts, lead.Facts{})
			equal(t, "trail", len(c.trail), 2)
		},
		"also when the address would not have been taken, and it is no conflict then": func(t *testing.T) {
			c := newCourse(provider("a", tells(x)))
			c.about(lead.Lead{Name: "Ann", Email: "ann@example.com"}, company)
			asked(c, "x@acme.com")
			equal(t, "verdict", c.run(t).Kind, suppress)
			equal(t, "conflicts as they are told", c.trail[0].Conflicts, nil)
		},
		"also between two walks": func(t *testing.T) {
			a := provider("a", tells(lead.Profile{email: "x@acme.com"}), errs, says(lead.ClassNoData))
			a.endpoints = []string{"one", "two"}
			c := newCourse(a)
			c.about(lead.Lead{Name: "Ann"}, company)
			asked(c, "nobody")
			equal(t, "verdict", c.walk(t).Kind, retry)
			asked(c, "x@acme.com")
			equal(t, "verdict", c.run(t).Kind, suppress)
		},
		"are looked for once in an answer that names the known address": func(t *testing.T) {
			c := newCourse(provider("a", tells(x)), provider("b", tells(lead.Profile{email: "x@acme.com", title: "CTO"})))
			c.about(lead.Lead{GivenName: "Ann"}, company)
			seen := asked(c, "nobody")
			c.run(t)
			equal(t, "looked for", *seen, []string{"x@acme.com"})
		},
		"are not looked for by the lead's own address, which was": func(t *testing.T) {
			c := newCourse(provider("a", tells(lead.Profile{email: someLead.Email, name: "Ann"})))
			seen := asked(c, someLead.Email)
			equal(t, "verdict", c.run(t).Kind, negative)
			equal(t, "looked for", *seen, nil)
		},
		"are not asked about any further while nobody can tell": func(t *testing.T) {
			a, b := provider("a", tells(x)), provider("b", knows)
			c := newCourse(a, b)
			c.roundTrip = true
			c.about(lead.Lead{Name: "Ann"}, company)
			away := true
			c.chain.IsSuppressed = func(context.Context, string) (bool, error) {
				if away {
					return true, errors.New("away")
				}
				return false, nil
			}
			for range 2 {
				equal(t, "verdict", c.walk(t).Kind, snooze)
			}
			equal(t, "calls", []int{len(a.made), len(b.made)}, []int{1, 0})
			away = false
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "calls", []int{len(a.made), len(b.made)}, []int{1, 1})
		},
		"are known by every address that was found": func(t *testing.T) {
			a := provider("a", tells(x), tells(lead.Profile{email: "y@acme.com", state: lead.EmailInvalid}), tells(lead.Profile{email: "info@acme.com"}), says(lead.ClassForbidden))
			a.endpoints = []string{"one", "two", "three", "four"}
			c := newCourse(a)
			c.about(lead.Lead{Name: "Ann"}, company)
			equal(t, "verdict", c.run(t).Kind, suppress)
			equal(t, "found", c.progress.Found, []string{"x@acme.com", "y@acme.com"})
			equal(t, "facts", c.progress.Facts, lead.Facts{})
		},
		"leave nothing when a provider says so": func(t *testing.T) {
			a := provider("a", tells(lead.Profile{name: "Ann Bo", title: "CTO"}))
			b := provider("b", says(lead.ClassPending).ticket("t1"), says(lead.ClassForbidden))
			b.polls = true
			c := newCourse(a, b)
			c.roundTrip = true
			c.about(lead.Lead{Name: "Ann", Email: "ann@example.com"}, company)
			c.walk(t)
			equal(t, "conflict before", c.trail[0].Conflicts, map[lead.Field]string{name: "Ann Bo"})
			equal(t, "verdict", c.run(t).Kind, suppress)
			equal(t, "facts", c.progress.Facts.Profile, lead.Profile(nil))
			equal(t, "tickets", c.progress.Asked["b"].Tickets, nil)
		},
		"leave no conflicts of the walk": func(t *testing.T) {
			c := newCourse(provider("a", tells(lead.Profile{name: "Bo"})), provider("b", says(lead.ClassForbidden)))
			c.about(lead.Lead{Name: "Ann", Email: "ann@example.com"}, company)
			v := c.run(t)
			equal(t, "verdict", v.Kind, suppress)
			equal(t, "trail", len(v.Trail), 2)
			for _, e := range v.Trail {
				equal(t, "conflicts of "+e.Provider, e.Conflicts, nil)
			}
		},
	})
}

func TestAnAnswerIsNotBoughtAgainInParts(t *testing.T) {
	inBubble(t, map[string]func(*testing.T){
		"an endpoint within one that was answered is not asked": func(t *testing.T) {
			a, b := provider("a", says(lead.ClassPartial, name)), provider("b", says(lead.ClassNoData))
			a.endpoints, a.within = []string{"both", "person"}, "both"
			c := newCourse(a, b)
			equal(t, "verdict", c.run(t).Kind, negative)
			equal(t, "calls", []int{len(a.made), len(b.made)}, []int{1, 1})
		},
		"it is asked where the other one was not": func(t *testing.T) {
			a := provider("a", says(lead.ClassOK, name, company))
			a.endpoints, a.within = []string{"person"}, "both"
			c := newCourse(a)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "calls", len(a.made), 1)
		},
	})
}

func TestAnAnswerAboutSomebodyOfAnotherNameIsNone(t *testing.T) {
	inBubble(t, map[string]func(*testing.T){
		"without an address it is not used": func(t *testing.T) {
			a, b := provider("a", tells(lead.Profile{name: "Rupert Vogel", title: "CEO"})), provider("b", says(lead.ClassNoData))
			c := newCourse(a, b)
			c.about(lead.Lead{Name: "Ann Roe", Email: "ann@acme.com"}, name, title)
			equal(t, "verdict", c.run(t).Kind, negative)
			equal(t, "trail", c.trail[0].Class, lead.ClassNoData)
			equal(t, "title", c.progress.Facts.Profile[title], "")
		},
		"of the lead's company that is used": func(t *testing.T) {
			a := provider("a", tells(lead.Profile{name: "Rupert Vogel", title: "CEO", company: "Acme", domain: "acme.com"}))
			c := newCourse(a)
			c.about(lead.Lead{Name: "Ann Roe", Email: "ann@acme.com"}, name, company)
			equal(t, "verdict", c.run(t).Kind, full)
			equal(t, "title", c.progress.Facts.Profile[title], "")
		},
	})
}
