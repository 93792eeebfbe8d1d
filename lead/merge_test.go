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
