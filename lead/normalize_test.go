package lead

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestAddressesComeOutInOneSpelling(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"as it is", "ann@x.example", "ann@x.example"},
		{"nothing", "  ", ""},
		{"upper case", "HELLO@Example.COM", "hello@example.com"},
		{"spaces around", "\t ann@x.example \u00a0", "ann@x.example"},
		{"zero-width characters", "\ufeffann\u200b@x.example", "ann@x.example"},
		{"mailto", "mailto:Ann@x.example", "ann@x.example"},
		{"mailto in a link", "MAILTO:ann%2Bnews@x.example?subject=Hi", "ann+news@x.example"},
		{"a trailing dot", "ann@x.example.", "ann@x.example"},
		{"several trailing dots", "ann@x.example..", "ann@x.example"},
		{"a display name", `"Roe, Ann" <Ann@x.example>`, "ann@x.example"},
		{"a display name without a space", "Ann<ann@x.example>", "ann@x.example"},
		{"two addresses", "a@x.example; b@x.example", "a@x.example"},
		{"two addresses with a comma", "a@x.example,b@x.example", "a@x.example"},
		{"two addresses, the first of them none", "n/a; b@x.example", "b@x.example"},
		{"two addresses on two lines", "a@x.example\nb@x.example", "a@x.example"},
		{"mailto behind another", "x; mailto:b@x.example", "b@x.example"},
		{"mailto in angle brackets", "Ann <mailto:ann@x.example>", "ann@x.example"},
		{"an international domain", "ann@BÜCHER.example", "ann@xn--bcher-kva.example"},
		{"the same in punycode", "ann@XN--bcher-kva.example", "ann@xn--bcher-kva.example"},
		{"a decomposed umlaut", "ann@bu\u0308cher.example", "ann@xn--bcher-kva.example"},
		{"a sharp s stays one", "ann@straße.example", "ann@xn--strae-oqa.example"},
		{"a full-width domain", "ann@ｘ.example", "ann@x.example"},
		{"an ideographic full stop", "ann@x。example", "ann@x.example"},
		{"an international local part", "JÖRG@x.example", "jörg@x.example"},
		{"dots and tags stay in the address", "A.nn+News@gmail.com", "a.nn+news@gmail.com"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := NormalizeEmail(tt.in)
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestWhatIsNoAddressIsRefused(t *testing.T) {
	for _, in := range []string{
		"ann", "@x.example", "ann@", "ann@x", "ann@.example", "ann@x..example", "a..b@x.example", ".ann@x.example",
		"ann.@x.example", "an n", "a@b@x.example", "ann@-x.example", "ann@x_y.example", "n/a", "-",
		strings.Repeat("a", 65) + "@x.example", "a@" + strings.Repeat("b", 64) + ".example",
		"a@" + strings.Repeat("bcd.", 64) + "example", `"a"@x.example`, "a(b)@x.example",
	} {
		got, err := NormalizeEmail(in)
		var fe *FieldError
		if !errors.As(err, &fe) || fe.Field != "email" || fe.Cure == "" {
			t.Errorf("%q: got %q, %v", in, got, err)
		} else if len(in) > 3 && strings.Contains(err.Error(), in) {
			t.Errorf("%q is quoted in the error", in)
		}
	}
}

func TestOnePersonHasOneKey(t *testing.T) {
	same := [][]string{
		{"ann.roe@gmail.com", "annroe@gmail.com", "Ann.Roe+news@GoogleMail.com", "annroe@googlemail.com"},
		{"hello@x.example", "HELLO@x.example", "hello@X.example."},
		{"a@bücher.example", "a@xn--bcher-kva.example"},
	}
	seen := map[string]int{}
	for i, group := range same {
		for _, e := range group {
			n, err := NormalizeEmail(e)
			if err != nil {
				t.Fatal(err)
			}
			k := EmailKey(n)
			if j, ok := seen[k]; ok && j != i {
				t.Errorf("%s has the key of another person", e)
			}
			seen[k] = i
		}
	}
	if len(seen) != len(same) {
		t.Errorf("%d keys for %d people: %v", len(seen), len(same), seen)
	}
	if EmailKey("a.b+c@x.example") != "a.b+c@x.example" {
		t.Error("a host that may tell dots and tags apart is taken for one that does not")
	}
	if EmailKey("no address") != "no address" {
		t.Error("what is no address is changed")
	}
}

func TestLeadsComeOutInOneSpelling(t *testing.T) {
	in := Lead{
		Source: " crm ", SourceID: "\x007", Email: "Ann@X.example", GivenName: " Ann  Mary ", FamilyName: "Roe\u0301",
		Title: "Head\n of\tSales", Domain: "https://www.X.example/about?x", LinkedIn: "https://de.linkedin.com/in/ann/?trk=1", Phone: "p:+91555",
	}
	want := Lead{
		Source: "crm", SourceID: "7", Email: "ann@x.example", Name: "Ann Mary Roé", GivenName: "Ann Mary", FamilyName: "Roé",
		Title: "Head of Sales", Domain: "x.example", LinkedIn: "linkedin.com/in/ann", Phone: "+91555",
	}
	got, err := Normalize(in)
	if err != nil || got != want {
		t.Errorf("got\n%+v, %v\nwant\n%+v", got, err, want)
	}
}

func TestALeadThatCannotBeUsedNamesTheField(t *testing.T) {
	tests := []struct {
		in    Lead
		field string
	}{
		{Lead{}, "email"},
		{Lead{Company: "X"}, "email"},
		{Lead{Email: "nobody"}, "email"},
		{Lead{Email: "nobody", Name: "Ann"}, "email"},
		{Lead{Name: "Ann", Domain: "x y"}, "domain"},
		{Lead{Name: "Ann", Domain: "localhost"}, "domain"},
		{Lead{Name: "Ann", Title: strings.Repeat("x", MaxFieldLength+1)}, "title"},
	}
	for _, tt := range tests {
		_, err := Normalize(tt.in)
		var fe *FieldError
		if !errors.As(err, &fe) || fe.Field != tt.field {
			t.Errorf("%.60v: %v, want an error about %s", tt.in, err, tt.field)
		}
	}
}

func TestDomainsComeOutBare(t *testing.T) {
	for in, want := range map[string]string{
		"x.example": "x.example", "HTTP://www.X.example:8080/a": "x.example", "x.example.": "x.example", "ann@x.example": "x.example",
		"bücher.example": "xn--bcher-kva.example", "": "", "n/a": "", "two words.example": "", "https://": "", "www.x.example?y": "x.example",
		"www.www.example": "www.example", "www.example": "www.example",
	} {
		if got := NormalizeDomain(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestLinkedInProfilesComeOutInOneForm(t *testing.T) {
	for in, want := range map[string]string{
		"https://www.linkedin.com/in/ann-roe/": "linkedin.com/in/ann-roe", "http://uk.linkedin.com/in/ann-roe?x=1": "linkedin.com/in/ann-roe",
		"linkedin.com/in/ann-roe": "linkedin.com/in/ann-roe", "in/ann-roe": "linkedin.com/in/ann-roe", "/in/ann-roe": "linkedin.com/in/ann-roe",
		"HTTPS://LinkedIn.com/in/ann-roe": "linkedin.com/in/ann-roe", "https://linkedin.com/in/ann-roe#top": "linkedin.com/in/ann-roe",
		"https://notlinkedin.com/in/ann": "linkedin.com/notlinkedin.com/in/ann", "https://www.linkedin.com/": "", "https://": "", "": "", " ": "",
	} {
		if got := NormalizeLinkedIn(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestACompanysDomainIsInferredFromAWorkAddressOnly(t *testing.T) {
	for _, tt := range []struct {
		lead Lead
		want string
	}{
		{Lead{Email: "a@x.example"}, "x.example"},
		{Lead{Email: "a@x.example", Domain: "y.example"}, "y.example"},
		{Lead{Email: "a@gmail.com"}, ""},
		{Lead{Name: "Ann"}, ""},
	} {
		if got := tt.lead.InferredDomain(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.lead, got, tt.want)
		}
	}
}

func FuzzNormalizeEmailIsIdempotent(f *testing.F) {
	for _, s := range []string{"Ann@X.example", "mailto:a%40b@x.example", "a@x.example;b", "<a@bücher.example>", "mailto:mailto:a@x.example", "mailto:a%3Bb@x.example", "mailto:%6Dailto:a@x.example", "a\u200b\u0301@x.example", "\u0130\u0301@x.example", "a@x.example.", "ẞ@ẞ.example", "İ@x.example"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, err := NormalizeEmail(s)
		if err != nil {
			return
		}
		twice, err := NormalizeEmail(once)
		if err != nil || twice != once {
			t.Errorf("%q gives %q, which gives %q, %v", s, once, twice, err)
		}
		if key := EmailKey(once); EmailKey(key) != key {
			t.Errorf("the key of %q has another key", once)
		}
	})
}

func FuzzNormalizeIsIdempotent(f *testing.F) {
	f.Add("crm", "7", "Ann@x.example", "Ann", "Roe", "https://www.x.example/", "https://linkedin.com/in/a/?x", "p:+91")
	f.Add("", "", "", " a\u0301 ", "\u200b", "www.www.x.example", "linkedin.com/linkedin.com/x", "p:p:1")
	f.Add("", "", "", strings.Repeat("a", 600), strings.Repeat("b", 600), "", "https:// ", "")
	f.Add("", "", "", strings.Repeat("\u0958", 300), "", "", strings.Repeat("x", 1000), "")
	f.Add("", "", "", "x\u200b \u0301", "", "a@b@c.example:1", "https://http://x/y", "p: 1")
	f.Fuzz(func(t *testing.T, source, id, email, given, family, domain, linkedIn, phone string) {
		once, err := Normalize(Lead{
			Source: source, SourceID: id, Email: email, GivenName: given, FamilyName: family,
			Domain: domain, LinkedIn: linkedIn, Phone: phone,
		})
		if err != nil {
			return
		}
		twice, err := Normalize(once)
		if err != nil || !reflect.DeepEqual(once, twice) {
			t.Errorf("%#v\ngives, again,\n%#v, %v", once, twice, err)
		}
		if once.ID() != twice.ID() {
			t.Error("the ID changes")
		}
	})
}
