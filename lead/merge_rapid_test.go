package lead

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	anyValue = map[Field][]string{
		PersonEmail:       {"x@acme.com", "y@acme.com", "a.b@gmail.com", "ab@gmail.com"},
		PersonEmailStatus: {"valid", "invalid", "unknown", "accept_all", "webmail"},
		CompanyDomain:     {"acme.com", "www.acme.com", "beta.example"},
	}
	anyStatement = rapid.Custom(func(t *rapid.T) statement {
		s := statement{Profile: Profile{}}
		for _, f := range []Field{PersonName, PersonEmail, PersonEmailStatus, PersonTitle, CompanyName, CompanyDomain, CompanyHeadcount} {
			if rapid.IntRange(0, 2).Draw(t, "has "+string(f)) > 0 {
				values := anyValue[f]
				if values == nil {
					values = []string{"one", "One", "two", " "}
				}
				s.Profile[f] = rapid.SampledFrom(values).Draw(t, string(f))
			}
		}
		s.from.Provider = rapid.SampledFrom([]string{"a", "b", "c", OriginSource}).Draw(t, "provider")
		if s.from.Provider == OriginSource {
			delete(s.Profile, PersonEmailStatus) // a lead comes with none
		} else {
			s.from.AsOf = rapid.SampledFrom([]Time{{}, year(2024), year(2025), year(2026)}).Draw(t, "as of")
			s.from.Confidence = rapid.SampledFrom([]float64{0, 0.5, 0.9}).Draw(t, "confidence")
		}
		s.overwrite = rapid.SliceOfDistinct(rapid.SampledFrom([]Field{PersonTitle, PersonEmail, CompanyDomain, CompanyName}), rapid.ID).Draw(t, "overwrite")
		return s
	})
)

// What holds after any statements, in any order, of whatever.
func TestMergingAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f Facts
		for _, s := range rapid.SliceOfN(anyStatement, 1, 6).Draw(t, "statements") {
			before, given := f.Clone(), maps.Clone(s.Profile)
			m := f.Merge(s.Profile, s.from, s.overwrite)
			if !maps.Equal(given, s.Profile) {
				t.Fatal("the answer was changed")
			}
			checkOrigins(t, f)
			checkChanges(t, before, f, s, m)
			checkTaken(t, f, s, m)
			once, order := f.Clone(), m
			f.Merge(s.Profile, s.from, s.overwrite)
			if diff := cmp.Diff(once, f.Clone()); diff != "" {
				t.Fatalf("merging it twice makes a difference (-once +twice):\n%s", diff)
			}
			again := before.Clone()
			if diff := cmp.Diff(order, again.Merge(s.Profile, s.from, s.overwrite)); diff != "" {
				t.Fatalf("the same merge says something else:\n%s", diff)
			}
		}
	})
}

func checkOrigins(t *rapid.T, f Facts) {
	for field, v := range f.Profile {
		if v == "" || f.Provenance[field].Provider == "" {
			t.Fatalf("%s is %q from %+v", field, v, f.Provenance[field])
		}
	}
	if len(f.Provenance) != len(f.Profile) {
		t.Fatalf("%d origins of %d fields", len(f.Provenance), len(f.Profile))
	}
	if f.Profile[PersonEmailStatus] != "" && f.Profile[PersonEmail] == "" {
		t.Fatal("a state of no address")
	}
	if f.Profile[PersonEmailStatus] == EmailInvalid && f.Provenance[PersonEmail].Provider != OriginSource {
		t.Fatal("a found address that does not exist is kept")
	}
	if slices.Contains(f.Invalid, EmailKey(f.Profile[PersonEmail])) && f.Provenance[PersonEmail].Provider != OriginSource {
		t.Fatal("an address is known and known not to exist")
	}
}

// checkChanges holds what became of the values that were known against the rules.
func checkChanges(t *rapid.T, before, after Facts, s statement, m Merged) {
	for field, old := range before.Profile {
		now, was := after.Profile[field], before.Provenance[field]
		if now == old {
			if slices.Contains(m.Replaced, field) {
				t.Fatalf("%s is said to be replaced", field)
			}
			continue
		}
		if was.Provider == OriginSource && !slices.Contains(s.overwrite, field) {
			t.Fatalf("the source's %s became %q", field, now)
		}
		moved := !SameSite(before.Profile[CompanyDomain], after.Profile[CompanyDomain])
		addressChanged := before.Profile[PersonEmail] != after.Profile[PersonEmail]
		switch {
		case now == "" && field.isWork() && moved:
		case now == "" && field == PersonEmail && m.Conflicts[PersonEmailStatus] == EmailInvalid:
		case now == "" && field == PersonEmailStatus && addressChanged:
		case now == "":
			t.Fatalf("%s is lost", field)
		case slices.Contains(m.Replaced, field), field == PersonEmailStatus && addressChanged:
		case SameValue(field, old, now) && moved:
		default:
			t.Fatalf("%s was replaced without a word", field)
		}
		stale := !was.AsOf.IsZero() && !s.from.AsOf.IsZero() && s.from.AsOf.Before(was.AsOf.Time)
		if stale && !moved && field != PersonEmail && field != PersonEmailStatus {
			t.Fatalf("%s was replaced by an older value", field)
		}
	}
}

// checkTaken: each value of an answer is known afterwards, or a conflict.
func checkTaken(t *rapid.T, after Facts, s statement, m Merged) {
	for field, v := range clean(s.Profile) {
		known := after.Profile[field]
		taken := known != "" && SameValue(field, known, v)
		if field == PersonEmailStatus && v == emailUnknown && known != "" && m.Conflicts[field] == "" {
			continue // as good as blank
		}
		if field == PersonEmailStatus && m.Conflicts[PersonEmail] != "" {
			taken = false // it is of the address that was not taken
		}
		if conflict, ok := m.Conflicts[field]; ok == taken || ok && conflict != v && !(field == PersonEmail && SameValue(field, conflict, v)) {
			t.Fatalf("%s %q: taken %t, conflict %q", field, v, taken, conflict)
		}
	}
	for field := range m.Conflicts {
		if s.Profile[field] == "" && !(field == PersonEmail && s.Profile[PersonEmailStatus] == EmailInvalid) {
			t.Fatalf("a conflict about %s, of which the answer says nothing", field)
		}
	}
	for field := range after.Profile {
		if slices.Contains(m.Filled, field) && !SameValue(field, after.Profile[field], s.Profile[field]) {
			t.Fatalf("%s is said to be filled", field)
		}
	}
}
