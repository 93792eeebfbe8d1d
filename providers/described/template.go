package described

import (
	"backstop/providers/profile"
	"fmt"
	"slices"
	"strings"
)

// leadWords are the values of a lead that a request can be made of.
var leadWords = []string{"email", "name", "given_name", "family_name", "company", "domain", "linkedin", "phone"}

// ticketWord is the placeholder of what a pending answer is asked for with.
const ticketWord = "ticket"

// wordsOf are the lead's values under their names; blank ones are absent.
func wordsOf(q profile.Question) map[string]string {
	l := q.Lead
	words := map[string]string{
		"email": l.Email, "name": l.Name, "given_name": l.GivenName, "family_name": l.FamilyName,
		"company": l.Company, "domain": q.Domain(), "linkedin": l.LinkedIn, "phone": l.Phone,
	}
	for name, v := range words {
		if v == "" {
			delete(words, name)
		}
	}
	return words
}

// A template is a text with placeholders: "https://{domain}/".
type template []part

// A part is plain text, or a placeholder if it has a name.
type part struct{ text, name string }

// parseTemplate reads a template; wrong says what is wrong with it and the cure.
func parseTemplate(s string) (t template, wrong string) {
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			return append(t, part{text: s}), ""
		}
		if i > 0 {
			t = append(t, part{text: s[:i]})
		}
		name, rest, closed := strings.Cut(s[i+1:], "}")
		if s[i] == '}' || !closed {
			return nil, "has a brace without its counterpart: write a placeholder as {email}"
		}
		if name != ticketWord && !slices.Contains(leadWords, name) {
			return nil, fmt.Sprintf("there is no placeholder {%s}: use one of {%s}; the API key goes where request.auth says",
				name, strings.Join(leadWords, "}, {"))
		}
		t, s = append(t, part{name: name}), rest
	}
	return t, ""
}

// String is the template as it was written.
func (t template) String() string {
	var b strings.Builder
	for _, p := range t {
		if p.name != "" {
			b.WriteString("{" + p.name + "}")
		}
		b.WriteString(p.text)
	}
	return b.String()
}

// names lists the placeholders.
func (t template) names() (names []string) {
	for _, p := range t {
		if p.name != "" {
			names = append(names, p.name)
		}
	}
	return names
}

// fill puts the words in, each as escape makes it. blank says that there are
// placeholders, and no word for any of them.
func (t template) fill(words map[string]string, escape func(string) string) (text string, blank bool) {
	var b strings.Builder
	placeholders, filled := 0, 0
	for _, p := range t {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		placeholders++
		if w := words[p.name]; w != "" {
			filled++
			b.WriteString(escape(w))
		}
	}
	return strings.TrimSpace(b.String()), placeholders > 0 && filled == 0
}

// asIs leaves a word as it is, for where it is escaped later.
func asIs(s string) string { return s }
