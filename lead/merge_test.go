package lead

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A statement is one answer to merge.
type statement struct {
	Profile
	from      Origin
	overwrite []Field
}

func year(y int) Time { return At(time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC)) }

// by is a provider's statement, of the given year, 0 for no date.
func by(provider string, y int, p Profile) statement {
	s := statement{Profile: p, from: Origin{Provider: provider}}
	if y != 0 {
		s.from.AsOf = year(y)
	}
	return s
}

func source(p Profile) statement { return by(OriginSource, 0, p) }

func (s statement) sure(confidence float64) statement { s.from.Confidence = confidence; return s }

func (s statement) over(fields ...Field) statement { s.overwrite = fields; return s }

func merged(all ...statement) (f Facts, last Merged) {
	for _, s := range all {
		last = f.Merge(s.Profile, s.from, s.overwrite)
	}
	return f, last
}

// A mergeCase says what is known after some statements, and what of the last one
// was not taken.
type mergeCase struct {
	statements []statement
	want       Profile
	conflicts  map[Field]string
}

func (tt mergeCase) run(t *testing.T) {
	f, last := merged(tt.statements...)
	if diff := cmp.Diff(tt.want, f.Profile); diff != "" {
		t.Errorf("profile (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tt.conflicts, last.Conflicts); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
}

func runMerges(t *testing.T, tests map[string]mergeCase) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, tt.run)
	}
}

func TestMergingValues(t *testing.T) {
	title := func(s string) Profile { return Profile{PersonTitle: s} }
	not := func(s string) map[Field]string { return map[Field]string{PersonTitle: s} }
	a := by("a", 2024, title("CTO"))
	runMerges(t, map[string]mergeCase{
		"a blank changes nothing":                   {[]statement{a, by("b", 2026, title(" "))}, title("CTO"), nil},
		"the first value is taken":                  {[]statement{by("a", 0, title(" CTO "))}, title("CTO"), nil},
		"a newer value replaces":                    {[]statement{a, by("b", 2025, title("CEO"))}, title("CEO"), nil},
		"an older value does not":                   {[]statement{a, by("b", 2023, title("CEO"))}, title("CTO"), not("CEO")},
		"one of the same time does not":             {[]statement{a, by("b", 2024, title("CEO"))}, title("CTO"), not("CEO")},
		"one without a time does not":               {[]statement{a, by("b", 0, title("CEO"))}, title("CTO"), not("CEO")},
		"one replaces none without a time":          {[]statement{by("a", 0, title("CTO")), by("b", 2026, title("CEO"))}, title("CTO"), not("CEO")},
		"a newer one that is less sure does not":    {[]statement{a.sure(0.9), by("b", 2025, title("CEO")).sure(0.8)}, title("CTO"), not("CEO")},
		"a newer one that is as sure does":          {[]statement{a.sure(0.9), by("b", 2025, title("CEO")).sure(0.9)}, title("CEO"), nil},
		"a newer one that does not say it does":     {[]statement{a.sure(0.9), by("b", 2025, title("CEO"))}, title("CEO"), nil},
		"another spelling is no conflict":           {[]statement{a, by("b", 2023, title("cto"))}, title("CTO"), nil},
		"another spelling replaces nothing":         {[]statement{a, by("b", 2025, title("cto"))}, title("CTO"), nil},
		"what was confirmed since is newer":         {[]statement{a, by("b", 2026, title("cto")), by("c", 2025, title("CEO"))}, title("CTO"), not("CEO")},
		"an older confirmation makes nothing older": {[]statement{a, by("b", 2020, title("CTO")), by("c", 2023, title("CEO"))}, title("CTO"), not("CEO")},
		"the source's value stays":                  {[]statement{source(title("CTO")), by("b", 2026, title("CEO"))}, title("CTO"), not("CEO")},
		"the source's value stays when confirmed":   {[]statement{source(title("CTO")), by("b", 2024, title("CTO")), by("c", 2026, title("CEO"))}, title("CTO"), not("CEO")},
		"the source's value is overwritten by any":  {[]statement{source(title("CTO")), by("b", 0, title("CEO")).over(PersonTitle)}, title("CEO"), nil},
		"other fields' overwriting does not count":  {[]statement{source(title("CTO")), by("b", 2026, title("CEO")).over(PersonName)}, title("CTO"), not("CEO")},
		"what overwrote the source is a provider's": {[]statement{source(title("CTO")), by("b", 2024, title("CEO")).over(PersonTitle), by("c", 2023, title("VP")).over(PersonTitle)}, title("CEO"), not("VP")},
	})
	// Provenance goes with the value.
	f, last := merged(a, by("b", 2026, title("cto")))
	if got := f.Provenance[PersonTitle]; got != (Origin{Provider: "b", AsOf: year(2026)}) || last.Filled != nil || last.Replaced != nil {
		t.Errorf("confirmed by b, it is %+v, and %+v", got, last)
	}
	f, last = merged(source(title("CTO")), by("b", 2026, title("CEO")).over(PersonTitle))
	if f.Provenance[PersonTitle].Provider != "b" || !cmp.Equal(last.Replaced, []Field{PersonTitle}) {
		t.Errorf("overwritten by b, it is %+v, and %+v", f, last)
	}
}

func TestMergingAddresses(t *testing.T) {
	mail := func(address, state string) Profile {
		return clean(Profile{PersonEmail: address, PersonEmailStatus: state})
	}
	x, y := "x@acme.com", "y@acme.com"
	found := by("finder", 2024, mail(x, ""))
	own := source(mail(x, ""))
	not := func(address, state string) map[Field]string { return mail(address, state) }
	runMerges(t, map[string]mergeCase{
		"an address is found":                                 {[]statement{found}, mail(x, ""), nil},
		"and its state after it":                              {[]statement{found, by("v", 0, mail("", "accept_all"))}, mail(x, "accept_all"), nil},
		"a state of no address is none":                       {[]statement{by("v", 0, mail("", "valid"))}, nil, not("", "valid")},
		"nothing is found out first":                          {[]statement{found, by("v", 0, mail("", "unknown"))}, mail(x, "unknown"), nil},
		"nothing is found out of a known state":               {[]statement{found, by("v", 2024, mail("", "valid")), by("w", 2026, mail("", "unknown"))}, mail(x, "valid"), nil},
		"something is found out of an unknown one":            {[]statement{found, by("v", 2026, mail("", "unknown")), by("w", 2024, mail("", "accept_all"))}, mail(x, "accept_all"), nil},
		"a verified one replaces one that was only found":     {[]statement{found, by("b", 0, mail(y, "valid"))}, mail(y, "valid"), nil},
		"a verified one replaces an uncertain one":            {[]statement{found, by("v", 2026, mail("", "accept_all")), by("b", 2020, mail(y, "valid"))}, mail(y, "valid"), nil},
		"one without a state replaces none":                   {[]statement{found, by("b", 0, mail(y, ""))}, mail(x, ""), not(y, "")},
		"an uncertain one replaces none":                      {[]statement{found, by("b", 0, mail(y, "accept_all"))}, mail(x, ""), not(y, "accept_all")},
		"a newer one replaces one that nobody verified":       {[]statement{found, by("v", 0, mail("", "accept_all")), by("b", 2025, mail(y, ""))}, mail(y, ""), nil},
		"a newer one does not replace a verified one":         {[]statement{found, by("v", 0, mail("", "valid")), by("b", 2026, mail(y, "accept_all"))}, mail(x, "valid"), not(y, "accept_all")},
		"a newer verified one replaces a verified one":        {[]statement{by("a", 2024, mail(x, "valid")), by("b", 2026, mail(y, "valid"))}, mail(y, "valid"), nil},
		"an older verified one does not":                      {[]statement{by("a", 2024, mail(x, "valid")), by("b", 2023, mail(y, "valid"))}, mail(x, "valid"), not(y, "valid")},
		"a found one that does not exist is dropped":          {[]statement{found, by("v", 0, mail("", "invalid"))}, mail("", ""), not(x, "invalid")},
		"also when it is named":                               {[]statement{found, by("v", 0, mail(x, "invalid"))}, mail("", ""), not(x, "invalid")},
		"and is not found again":                              {[]statement{found, by("v", 0, mail("", "invalid")), by("b", 2026, mail(x, ""))}, mail("", ""), not(x, "")},
		"and another one is":                                  {[]statement{found, by("v", 0, mail("", "invalid")), by("b", 0, mail(y, ""))}, mail(y, ""), nil},
		"until somebody verifies it":                          {[]statement{found, by("v", 0, mail("", "invalid")), by("b", 0, mail(x, "valid"))}, mail(x, "valid"), nil},
		"one that does not exist is not taken":                {[]statement{by("b", 0, mail(x, "invalid"))}, nil, not(x, "invalid")},
		"nor later":                                           {[]statement{by("b", 0, mail(x, "invalid")), by("c", 0, mail(x, "accept_all"))}, nil, not(x, "accept_all")},
		"nor in place of another":                             {[]statement{found, by("b", 2026, mail(y, "invalid"))}, mail(x, ""), not(y, "invalid")},
		"an older word of its end does not count":             {[]statement{by("a", 2026, mail(x, "valid")), by("b", 2024, mail("", "invalid"))}, mail(x, "valid"), not("", "invalid")},
		"a newer one does":                                    {[]statement{by("a", 2024, mail(x, "valid")), by("b", 2026, mail("", "invalid"))}, mail("", ""), not(x, "invalid")},
		"of two looks without a time the last counts":         {[]statement{by("a", 0, mail(x, "valid")), by("b", 0, mail("", "invalid"))}, mail("", ""), not(x, "invalid")},
		"an undecided look does not undo a decided one":       {[]statement{by("a", 0, mail(x, "valid")), by("b", 2026, mail("", "accept_all"))}, mail(x, "valid"), not("", "accept_all")},
		"unless it is known to be newer":                      {[]statement{by("a", 2024, mail(x, "valid")), by("b", 2026, mail("", "accept_all"))}, mail(x, "accept_all"), nil},
		"the source's stays":                                  {[]statement{own, by("b", 2026, mail(y, "valid"))}, mail(x, ""), not(y, "valid")},
		"the source's stays though it does not exist":         {[]statement{own, by("v", 2026, mail("", "invalid"))}, mail(x, "invalid"), nil},
		"the source's is overwritten by a verified one":       {[]statement{own, by("b", 0, mail(y, "valid")).over(PersonEmail)}, mail(y, "valid"), nil},
		"its state goes with it":                              {[]statement{own, by("v", 2026, mail("", "invalid")), by("b", 0, mail(y, "valid")).over(PersonEmail)}, mail(y, "valid"), nil},
		"the source's is not overwritten by an unverified":    {[]statement{own, by("b", 2026, mail(y, "accept_all")).over(PersonEmail)}, mail(x, ""), not(y, "accept_all")},
		"the source's is not overwritten once it is verified": {[]statement{own, by("v", 0, mail("", "valid")), by("b", 2026, mail(y, "valid")).over(PersonEmail)}, mail(x, "valid"), not(y, "valid")},
		"another spelling is the same address":                {[]statement{by("a", 0, mail("a.nn@gmail.com", "")), by("b", 0, mail("ann@googlemail.com", "valid"))}, mail("a.nn@gmail.com", "valid"), nil},
	})
}

func TestMergingWork(t *testing.T) {
	job := func(company, domain, title string) Profile {
		return clean(Profile{CompanyName: company, CompanyDomain: domain, PersonTitle: title})
	}
	acme := by("a", 2024, Profile{CompanyName: "Acme", CompanyDomain: "acme.com", CompanyHeadcount: "51-250", PersonTitle: "CTO", PersonSeniority: "executive", PersonLocation: "Rome"})
	beta := Profile{CompanyName: "Beta", CompanyDomain: "beta.example", PersonTitle: "VP"}
	betaInRome := Profile{CompanyName: "Beta", CompanyDomain: "beta.example", PersonTitle: "VP", PersonLocation: "Rome"}
	runMerges(t, map[string]mergeCase{
		"of one company it goes field by field": {
			[]statement{by("a", 0, job("Acme", "acme.com", "")), by("b", 0, job("Acme Inc", "www.acme.com", "CTO"))},
			job("Acme", "acme.com", "CTO"), map[Field]string{CompanyName: "Acme Inc"},
		},
		"of another company nothing is taken": {
			[]statement{by("a", 0, job("Acme", "acme.com", "")), by("b", 2026, job("Beta", "beta.example", "VP"))},
			job("Acme", "acme.com", ""), map[Field]string{CompanyName: "Beta", CompanyDomain: "beta.example", PersonTitle: "VP"},
		},
		"what is alike at both is no conflict": {
			[]statement{by("a", 0, job("Acme", "acme.com", "CTO")), by("b", 0, job("Beta", "beta.example", "cto"))},
			job("Acme", "acme.com", "CTO"), map[Field]string{CompanyName: "Beta", CompanyDomain: "beta.example"},
		},
		"a newer company leaves nothing of the older": {[]statement{acme, by("b", 2026, beta)}, betaInRome, nil},
		"not even what was dated later, or not at all": {
			[]statement{acme, by("c", 2027, Profile{PersonRole: "engineering", PersonTitle: "Chief"}), by("d", 0, Profile{CompanyPhone: "1"}), by("b", 2026, beta)},
			betaInRome, nil,
		},
		"a newer company that is less sure wins nothing": {
			[]statement{by("a", 2024, job("Acme", "acme.com", "CTO")).sure(0.9), by("b", 2026, beta).sure(0.2)},
			job("Acme", "acme.com", "CTO"), beta,
		},
		"the source's company stays, and nothing of another comes to it": {
			[]statement{source(job("Acme", "acme.com", "")), by("b", 2026, beta)}, job("Acme", "acme.com", ""), beta,
		},
		"the source's company is overwritten with all that providers said of it": {
			[]statement{source(job("", "acme.com", "")), by("a", 2024, job("Acme", "acme.com", "CTO")), by("b", 0, job("Beta", "beta.example", "")).over(CompanyDomain)},
			job("Beta", "beta.example", ""), nil,
		},
		"what the source says of the work stays at a newer company": {
			[]statement{source(job("", "", "CTO")), by("a", 2024, job("Acme", "acme.com", "")), by("b", 2026, beta)},
			job("Beta", "beta.example", "CTO"), map[Field]string{PersonTitle: "VP"},
		},
		"a company that the source named holds its domain": {
			[]statement{source(job("Acme", "", "")), by("a", 2024, job("Acme Inc", "acme.com", "CTO")), by("b", 2026, beta)},
			job("Acme", "acme.com", "CTO"), beta,
		},
		"until it has a newer domain": {
			[]statement{source(job("Acme", "", "")), by("a", 2024, job("Acme Inc", "acme.com", "CTO")), by("b", 2026, job("Acme Corp", "acme.io", "CEO"))},
			job("Acme", "acme.io", "CEO"), map[Field]string{CompanyName: "Acme Corp"},
		},
		"or may be overwritten": {
			[]statement{source(job("Acme", "", "")), by("a", 2024, job("Acme Inc", "acme.com", "CTO")), by("b", 2026, beta).over(CompanyName)},
			beta, nil,
		},
		"an inferred domain names no company": {
			[]statement{by("a", 0, job("", "", "CTO")), by(OriginInferred, 0, job("", "mail.example", "")), by("b", 0, job("Beta", "beta.example", "VP"))},
			job("Beta", "beta.example", "CTO"), map[Field]string{PersonTitle: "VP"},
		},
		"an inferred domain replaces none": {
			[]statement{by("a", 0, job("Beta", "beta.example", "")), by(OriginInferred, 0, job("", "mail.example", ""))},
			job("Beta", "beta.example", ""), map[Field]string{CompanyDomain: "mail.example"},
		},
		"an answer without a domain is of the known company": {
			[]statement{by("a", 2024, job("Acme", "acme.com", "")), by("b", 0, job("Beta", "", "VP"))},
			job("Acme", "acme.com", "VP"), map[Field]string{CompanyName: "Beta"},
		},
	})
	f, last := merged(acme, by("b", 2026, beta))
	for field, o := range f.Provenance {
		if want := map[bool]string{true: "b", false: "a"}[field.isWork()]; o.Provider != want {
			t.Errorf("%s is from %s, want %s", field, o.Provider, want)
		}
	}
	if want := []Field{CompanyDomain, CompanyName, PersonTitle}; !cmp.Equal(last.Replaced, want) || last.Filled != nil {
		t.Errorf("replaced %v and filled %v", last.Replaced, last.Filled)
	}
}

func TestACompanyThatTheLeadNamesIsNotMixedWithAnother(t *testing.T) {
	answer := func(name, domain string) Profile {
		return Profile{PersonTitle: "VP", CompanyName: name, CompanyDomain: domain, PersonLocation: "Porto"}
	}
	tests := []struct {
		name   string
		lead   Lead
		answer Profile
		mixed  bool // the title is taken
	}{
		{"another company", Lead{Company: "Acme", Email: "ann@acme.example"}, answer("Beta", "beta.example"), false},
		{"another company, by a free-mail address", Lead{Company: "Acme", Email: "ann@gmail.com"}, answer("Beta", "beta.example"), false},
		{"the same with its legal form", Lead{Company: "Acme", Email: "ann@gmail.com"}, answer("Acme Inc.", "acme-robotics.example"), true},
		{"in full, with the short one as domain", Lead{Company: "IBM"}, answer("International Business Machines", "ibm.com"), true},
		{"under another name, but of the lead's own address", Lead{Company: "Alphabet", Email: "ann@mail.google.com"}, answer("Google", "google.com"), true},
		{"without a name in the answer", Lead{Company: "Acme"}, Profile{PersonTitle: "VP", CompanyDomain: "beta.example", PersonLocation: "Porto"}, true},
		{"without a company in the lead", Lead{Email: "ann@acme.example"}, answer("Beta", "beta.example"), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var f Facts
			f.Merge(tt.lead.Profile(), Origin{Provider: OriginSource}, nil)
			m := f.Merge(tt.answer, Origin{Provider: "hunter"}, nil)
			if got := f.Profile[PersonTitle] != ""; got != tt.mixed {
				t.Errorf("the title is taken: %v", got)
			}
			if f.Profile[PersonLocation] != "Porto" {
				t.Error("what is not of their work was not taken")
			}
			if _, told := m.Conflicts[PersonTitle]; told == tt.mixed {
				t.Errorf("the conflicts are %v", m.Conflicts)
			}
		})
	}
}

func TestThePartsOfANameBelongToOneName(t *testing.T) {
	source := Origin{Provider: OriginSource}
	old, newer := Origin{Provider: "a", AsOf: FromMillis(1000)}, Origin{Provider: "b", AsOf: FromMillis(2000)}
	tests := []struct {
		name      string
		known     Profile
		by        Origin
		answer    Profile
		from      Origin
		want      Profile
		conflicts map[Field]string
	}{
		{"another's parts are not filled in", Profile{PersonName: "Bob Smith"}, source,
			Profile{PersonName: "Mei Yamada", PersonGivenName: "Mei", PersonFamilyName: "Yamada"}, newer,
			Profile{PersonName: "Bob Smith"}, map[Field]string{PersonName: "Mei Yamada", PersonGivenName: "Mei", PersonFamilyName: "Yamada"}},
		{"the same name's are", Profile{PersonName: "Bob Smith"}, source,
			Profile{PersonName: "Robert Smith", PersonGivenName: "Robert", PersonFamilyName: "Smith"}, newer,
			Profile{PersonName: "Bob Smith", PersonGivenName: "Robert", PersonFamilyName: "Smith"}, map[Field]string{PersonName: "Robert Smith"}},
		{"a newer name is taken as a whole", Profile{PersonName: "Ann Lee", PersonGivenName: "Ann", PersonFamilyName: "Lee"}, old,
			Profile{PersonName: "Kim Berg", PersonFamilyName: "Berg"}, newer,
			Profile{PersonName: "Kim Berg", PersonFamilyName: "Berg"}, nil},
		{"an older one not at all", Profile{PersonName: "Ann Lee"}, newer,
			Profile{PersonName: "Kim Berg", PersonGivenName: "Kim"}, old,
			Profile{PersonName: "Ann Lee"}, map[Field]string{PersonName: "Kim Berg", PersonGivenName: "Kim"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var f Facts
			f.Merge(tt.known, tt.by, nil)
			m := f.Merge(tt.answer, tt.from, nil)
			if diff := cmp.Diff(tt.want, f.Profile); diff != "" {
				t.Errorf("profile (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.conflicts, m.Conflicts); diff != "" {
				t.Errorf("conflicts (-want +got)\n%s", diff)
			}
			if len(f.Provenance) != len(f.Profile) {
				t.Errorf("%d origins of %d values", len(f.Provenance), len(f.Profile))
			}
		})
	}
}

func TestTheAddressOfAnOfficeIsNobodys(t *testing.T) {
	var f Facts
	f.Merge(Profile{PersonName: "Ann Lee"}, Origin{Provider: OriginSource}, nil)
	m := f.Merge(Profile{PersonEmail: "info@acme.example", PersonEmailStatus: EmailValid}, Origin{Provider: "a"}, nil)
	if f.Profile[PersonEmail] != "" || m.Conflicts[PersonEmail] != "info@acme.example" {
		t.Errorf("it is taken: %v, %v", f.Profile, m.Conflicts)
	}
	f = Facts{}
	f.Merge(Profile{PersonEmail: "info@acme.example"}, Origin{Provider: OriginSource}, nil)
	f.Merge(Profile{PersonEmail: "info@acme.example", PersonEmailStatus: "accept_all"}, Origin{Provider: "a"}, nil)
	if f.Profile[PersonEmail] != "info@acme.example" || f.Profile[PersonEmailStatus] != "accept_all" {
		t.Errorf("the lead's own is gone: %v", f.Profile)
	}
}
