package described

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/httpjson"
	"backstop/providers/profile"
)

// A described is the provider of a description.
type described struct {
	httpjson.API
	*Description
	name string
}

func (d *described) Name() string { return d.name }

func (d *described) Plan(l lead.Lead, missing []lead.Field) ([]providers.Call, string) {
	q := profile.Question{Lead: l, Missing: missing}
	words := wordsOf(q)
	set, why := d.choose(words, missing)
	if why != "" {
		return nil, why
	}
	maps.DeleteFunc(words, func(w, _ string) bool { return !set.has(w) })
	i := inquiry{q, set, words}
	call := d.call(i)
	call.Do = func(ctx context.Context) providers.Answer { return d.ask(ctx, i) }
	if d.poll != nil {
		call.Poll = func(ctx context.Context, ticket string) providers.Answer { return d.fetch(ctx, i, ticket) }
	}
	return []providers.Call{call}, ""
}

// An inquiry is what a call asks, and by which values.
type inquiry struct {
	profile.Question
	set   needSet
	words map[string]string
}

// Named is the person as far as the call asks by a name.
func (i inquiry) Named() profile.Named {
	sent := lead.Lead{Name: i.words["name"], GivenName: i.words["given_name"], FamilyName: i.words["family_name"],
		Company: i.words["company"], Domain: i.words["domain"]}
	return profile.Question{Lead: sent}.Named()
}

// call is the call without its Do. Its answer depends on whom it is about and on
// every other value that is sent.
func (d *described) call(i inquiry) providers.Call {
	endpoint := d.endpoint()
	var c providers.Call
	var told needSet // by the subject
	switch {
	case i.set.has("email"):
		c, told = profile.About(d.Base, i.Lead, endpoint), needSet{"email"}
	case i.Named().Name != "":
		c, told = profile.About(d.Base, i.Lead, endpoint), needSet{"name", "domain"}
		c.Subject = i.Named().Key()
		if !i.set.has("name") {
			told = append(told, "given_name", "family_name")
		}
		if !i.set.has("domain") {
			told = append(told, "company")
		}
	case len(i.set) == 1 && i.set.has("domain"):
		return profile.AboutCompany(d.Base, i.words["domain"], endpoint)
	default:
		c = profile.About(d.Base, i.Lead, endpoint)
	}
	rest := slices.DeleteFunc(slices.Clone(i.set), told.has)
	if len(rest) > 0 {
		c.Variant += " " + fingerprint(rest, i.words)
	}
	return c
}

// choose is the first set of needs of which the lead has every value, and asked by
// which the provider may tell something that is missing. What it is asked by it
// does not tell: another address than the known one is not to be had for it.
func (d *Description) choose(words map[string]string, missing []lead.Field) (set needSet, why string) {
	why = "has too little to be asked about"
	if len(d.needs) == 1 && d.needs[0].has("email") {
		why = profile.NoEmail
	}
	for _, set := range d.needs {
		if slices.ContainsFunc(set, func(w string) bool { return words[w] == "" }) {
			continue
		}
		if slices.ContainsFunc(missing, func(f lead.Field) bool { return d.fills(f) && !set.has(echoes[f]) }) {
			return set, ""
		}
		why = profile.NothingToAdd
	}
	return nil, why
}

// fills reports whether the provider may know the field.
func (d *Description) fills(f lead.Field) bool {
	if f == lead.PersonName && d.fields[lead.PersonGivenName] != nil && d.fields[lead.PersonFamilyName] != nil {
		return true
	}
	return d.fields[f] != nil
}

// endpoint is the provider's only one: the request's path as the description has
// it, without the slashes around it and without a lead's values.
func (d *Description) endpoint() string {
	return cmp.Or(strings.Trim(d.request.path.String(), "/"), "/")
}

// fingerprint stands for the words, the same for the same ones, and does not tell
// them.
func fingerprint(set needSet, words map[string]string) string {
	h := sha256.New()
	for _, w := range set {
		h.Write([]byte(w + "\x00" + words[w] + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// ask makes the request.
func (d *described) ask(ctx context.Context, i inquiry) providers.Answer {
	r, failed := d.send(ctx, &d.request, i.words, i.set)
	if failed != nil {
		return *failed
	}
	a, doc := d.read(r, i)
	if d.poll == nil || a.Class != lead.ClassPending {
		return a
	}
	if a.Ticket = ticketAt(d.poll.ticket, doc); a.Ticket == "" {
		return r.Answer(lead.ClassTransient, "pending, without a ticket to ask for the result with", d.Now())
	}
	return a
}

// fetch asks for the result of a pending answer.
func (d *described) fetch(ctx context.Context, i inquiry, ticket string) providers.Answer {
	words := maps.Clone(i.words)
	words[ticketWord] = ticket
	r, failed := d.send(ctx, &d.poll.describedRequest, words, nil)
	if failed != nil {
		return *failed
	}
	a, _ := d.read(r, i)
	if a.Class == lead.ClassPending {
		a.Ticket = ticket
	}
	return a
}

func (d *described) send(ctx context.Context, form *describedRequest, words map[string]string, set needSet) (httpjson.Reply, *providers.Answer) {
	q, unfit := form.make(words)
	if unfit != "" {
		return httpjson.Reply{}, unasked(unfit)
	}
	if form.idempotency != "" {
		// The same for every attempt to ask the same, and another one for each
		// provider, so that vendors cannot compare it.
		q.Header.Set(form.idempotency, fingerprint(append(needSet{d.Name() + " " + form.method + " " + d.request.path.String()}, set...), words))
	}
	d.auth.sign(q, d.APIKey)
	return d.Do(ctx, q)
}

// maxTicket is the longest ticket that is taken.
const maxTicket = 200

func ticketAt(paths []jsonPath, doc httpjson.Node) string {
	for _, p := range paths {
		for _, n := range p.find(doc) {
			word, _ := n.Word()
			if word = profile.Text(httpjson.Node{V: word}); word != "" && len(word) <= maxTicket && strings.Trim(word, ".") != "" {
				return word
			}
		}
	}
	return ""
}
