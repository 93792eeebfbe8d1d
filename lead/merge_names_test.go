package lead

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
