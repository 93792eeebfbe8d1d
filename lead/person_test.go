package lead

import (
	"testing"

	"pgregory.net/rapid"
)

func TestEverySpellingOfAPersonHasOneKey(t *testing.T) {
	// The keys are in ledgers: another one would hide what is known of a person.
	for want, spellings := range map[string][]Lead{
		"email:ann@x.example":             {{Email: "Ann@X.example"}, {Email: "ann+news@x.example"}, {Email: "<ANN+a+b@x.example.>"}, {Email: "ann@x.example", Name: "Bo"}},
		"email:annroe@gmail.com":          {{Email: "ann.roe@gmail.com"}, {Email: "A.n.n.Roe+x@GoogleMail.com"}, {Email: "annroe@googlemail.com"}},
		"email:ann@icloud.com":            {{Email: "ann@icloud.com"}, {Email: "ann+x@me.com"}, {Email: "Ann@Mac.com"}},
		"email:ann@proton.me":             {{Email: "ann@proton.me"}, {Email: "ann+x@protonmail.com"}, {Email: "ann@PM.me"}},
		"email:ann@xn--bcher-kva.example": {{Email: "ann@BÜCHER.example"}, {Email: "ann+1@xn--bcher-kva.example"}, {Email: "ann@bu\u0308cher.example"}},
		"email:jörg@x.example":            {{Email: "JÖRG@x.example"}, {Email: "jo\u0308rg+x@x.example"}},
		"email:a.b@x.example":             {{Email: "a.b@x.example"}},
		"email:ab@x.example":              {{Email: "ab@x.example"}},
		"email:+x@x.example":              {{Email: "+x@x.example"}, {Email: "+X+tag@x.example"}},
		"email:+y@x.example":              {{Email: "+y@x.example"}},
		"email:+x@gmail.com":              {{Email: "+x@gmail.com"}},
		"email:+y@gmail.com":              {{Email: "+y@googlemail.com"}},
		"email:ann@outlook.com":           {{Email: "ann+x@outlook.com"}},
		"email:ann@hotmail.com":           {{Email: "ann@hotmail.com"}},
		"name:ann roe@x.example":          {{Name: "Ann Roe", Domain: "www.X.example"}, {Name: "Dr. ANN  ROÉ", Domain: "x.example", Company: "X"}, {Name: "Roe, Ann", Domain: "https://x.example/"}, {GivenName: "Ann", FamilyName: "Roe", Domain: "x.example"}},
		"name:ann roe@acmegmbh":           {{Name: "Ann Roe", Company: "ACME GmbH"}, {Name: "ann roe", Company: "Acme-GmbH."}},
		"name:王伟@x":                       {{Name: "王伟", Company: "X"}},
		"name:ann roe@acme":               {{Name: "Ann Roe", Company: "Acme", LinkedIn: "in/ann-roe"}, {Name: "Ann Roe", Company: "Acme", Domain: "gmail.com"}},
		"profile:linkedin.com/in/ann-roe": {{Name: "Ann Roe", LinkedIn: "https://www.linkedin.com/in/Ann-Roe/?x=1"}, {Name: "A. Roe", LinkedIn: "in/ann-roe"}, {Name: "🚀", Company: "Acme", LinkedIn: "in/ann-roe"}},
		"profile:linkedin.com/pub/ann/1":  {{Name: "Ann Roe", LinkedIn: "linkedin.com/pub/ann/1"}},
		"": {{Name: "🚀"}, {Name: "J. 2-3", Company: "Acme"}, {Name: "A B", Company: "Acme"}, {Name: "Dr.", Company: "Acme"}, {Name: "Ann Roe"}, {Name: "王伟"}, {Name: "Ann Roe", Company: "-"}, {Name: "Ann Roe", Domain: "gmail.com"},
			{Name: "Ann Roe", Phone: "+15555550100", Location: "Porto"}, {Name: "Ann Roe", LinkedIn: "linkedin.com/company/acme"}, {Name: "Ann Roe", LinkedIn: "n/a"},
			{Name: "Ann Roe", LinkedIn: "https://www.linkedin.com/in/"}},
	} {
		for _, l := range spellings {
			n, err := Normalize(l)
			if err != nil {
				t.Fatal(err)
			}
			if got := PersonKey(n); got != want {
				t.Errorf("%+v has the key %q, want %q", l, got, want)
			}
		}
	}
	for _, s := range []string{"", "no address"} {
		if got := EmailPersonKey(s); got != "" {
			t.Errorf("%q has the key %q", s, got)
		}
	}
}

func TestThoseOfAName(t *testing.T) {
	for _, tt := range []struct{ name, domain, company, want string }{
		{"Ann Roe", "x.example", "X", "name:ann roe@x.example"},
		{"Roe, Ann", "", "X Inc.", "name:ann roe@xinc"},
		{"Ann Roe", "gmail.com", "X", "name:ann roe@x"},
		{"Ann Roe", "", "", "name:ann roe@"},
		{"Dr.", "x.example", "X", ""},
	} {
		if got := NameKey(tt.name, tt.domain, tt.company); got != tt.want {
			t.Errorf("%q at %q, %q: %q, want %q", tt.name, tt.domain, tt.company, got, tt.want)
		}
	}
}

// anyAddress is a normalised address, mostly one of few, so that some are alike.
var anyAddress = rapid.Custom(func(t *rapid.T) string {
	local := rapid.StringMatching(`[aA.+]{1,4}[ab]`).Draw(t, "local")
	host := rapid.SampledFrom([]string{"gmail.com", "GoogleMail.com", "me.com", "icloud.com", "pm.me", "proton.me", "x.example", "bücher.example"}).Draw(t, "host")
	email, err := NormalizeEmail(local + "@" + host)
	if err != nil {
		return "ab@x.example"
	}
	return email
})

func TestOneEmailKeyIsOnePerson(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyAddress.Draw(t, "a"), anyAddress.Draw(t, "b")
		if EmailKey(a) == EmailKey(b) && EmailPersonKey(a) != EmailPersonKey(b) {
			t.Fatalf("%s and %s are one address of two people", a, b)
		}
		if k := EmailKey(a); EmailKey(k) != k || EmailPersonKey(k) != EmailPersonKey(a) {
			t.Fatalf("the key of %s is of another person", a)
		}
		if PersonKey(Lead{Email: a, Name: "Ann"}) != EmailPersonKey(a) {
			t.Fatal("the name of a person with an address counts")
		}
	})
}

func TestAddressesOfOffices(t *testing.T) {
	for email, want := range map[string]bool{
		"info@x.example": true, "sales@x.example": true, "info+ann@x.example": true, "no-reply@x.example": true, "no.reply@x.example": true,
		"noreply@x.example": true, "do-not-reply@x.example": true, "mailer-daemon@x.example": true, "customer.service@x.example": true,
		"contact_us@x.example": true, "it@x.example": true, "hr@x.example": true,
		"ann@x.example": false, "information@x.example": false, "ann.info@x.example": false, "ann+info@x.example": false, "h.r@x.example": false,
		"i.t@x.example": false, "+info@x.example": false, "info": false, "": false, "@": false,
	} {
		if got := IsRoleAddress(email); got != want {
			t.Errorf("%q: %t, want %t", email, got, want)
		}
	}
}

func TestHostsOfOneOwner(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"acme.com", "acme.com", true},
		{"acme.com", "www.acme.com", true},
		{"mail.acme.co.uk", "acme.co.uk", true},
		{"ACME.com.", "acme.com", true},
		{"acme.co.uk", "other.co.uk", false},
		{"acme.com", "acme.de", false},
		{"a.github.io", "b.github.io", false},
		{"co.uk", "co.uk", true},
		{"co.uk", "acme.co.uk", false},
		{"10.0.0.1", "20.0.0.1", false},
		{"localhost", "localhost", true},
		{"", "acme.com", false},
		{"", "", true},
		{"..", "acme.com", false},
	} {
		if SameSite(tt.a, tt.b) != tt.want || SameSite(tt.b, tt.a) != tt.want {
			t.Errorf("%q and %q: not %t both ways", tt.a, tt.b, tt.want)
		}
	}
}

func TestValuesThatSayTheSame(t *testing.T) {
	for _, tt := range []struct {
		field Field
		a, b  string
		want  bool
	}{
		{PersonTitle, "Head of R&D", "head of r & d", true},
		{PersonTitle, "C++ Developer", "C Developer", false},
		{PersonTitle, "CTO", "CEO", false},
		{PersonTitle, "🚀", "🎉", false},
		{PersonTitle, "CTO ✨\ufe0f", "CTO", true},
		{PersonName, "José  Peña", "JOSE PENA", true},
		{PersonName, "राम", "रमा", false},
		{CompanyName, "Acme, Inc.", "ACME Inc", true},
		{CompanyName, "Acme", "Acme Inc", false},
		{CompanyDomain, "www.acme.com", "acme.com", true},
		{CompanyDomain, "acme.com", "acme.org", false},
		{PersonEmail, "a.nn@gmail.com", "ann+x@googlemail.com", true},
		{PersonEmail, "ann@x.example", "bo@x.example", false},
		{CompanyHeadcount, "51-250", "51–250", true},
		{CompanyHeadcount, "51-250", "51 - 250", true},
		{CompanyHeadcount, "51-250", "51 to 250 employees", true},
		{CompanyHeadcount, "1K-5K", "1,000-5,000", true},
		{CompanyHeadcount, "10001+", "10,001+", true},
		{CompanyHeadcount, "10001+", "10001", false},
		{CompanyHeadcount, "51-250", "51250", false},
		{CompanyHeadcount, "5-12", "51-2", false},
		{CompanyHeadcount, "120", "51-200", false},
		{PersonPhone, "+1 555-0100", "+1 (555) 0100", true},
		{PersonPhone, "+1 555 0100", "+15550101", false},
		{PersonPhone, "+15550100", "15550100", false},
		{PersonLinkedIn, "https://www.linkedin.com/in/ann-roe/", "linkedin.com/in/ann-roe", true},
		{PersonLinkedIn, "in/Ann-Roe", "linkedin.com/in/ann-roe", true},
		{PersonLinkedIn, "linkedin.com/in/ann-roe", "linkedin.com/in/annroe", false},
		{PersonLinkedIn, "linkedin.com/in/acme", "linkedin.com/company/acme", false},
		{CompanyLinkedIn, "company/acme", "https://de.linkedin.com/company/acme?x=1", true},
	} {
		if SameValue(tt.field, tt.a, tt.b) != tt.want || SameValue(tt.field, tt.b, tt.a) != tt.want {
			t.Errorf("%s %q and %q: not %t both ways", tt.field, tt.a, tt.b, tt.want)
		}
		if !SameValue(tt.field, tt.a, tt.a) {
			t.Errorf("%s %q is not itself", tt.field, tt.a)
		}
	}
}
