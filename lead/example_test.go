package lead_test

import (
	"fmt"
	"time"

	"backstop/lead"
)

// A value gives way to a newer one. One that is older, or of no date, is a conflict.
func ExampleFacts_Merge() {
	in := func(year int) lead.Time { return lead.At(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)) }
	var known lead.Facts
	known.Merge(lead.Profile{lead.PersonName: "Ann Known", lead.PersonPhone: "+44 20 7946 0001"},
		lead.Origin{Provider: "clearbit", AsOf: in(2024)}, nil)
	newer := known.Merge(lead.Profile{lead.PersonPhone: "+44 20 7946 0002", lead.CompanyName: "Acme"},
		lead.Origin{Provider: "hunter", AsOf: in(2026)}, nil)
	older := known.Merge(lead.Profile{lead.PersonPhone: "+44 20 7946 0003"},
		lead.Origin{Provider: "pdl", AsOf: in(2020)}, nil)

	fmt.Println("filled", newer.Filled, "replaced", newer.Replaced)
	fmt.Println("not taken", older.Conflicts)
	for _, f := range []lead.Field{lead.PersonName, lead.PersonPhone, lead.CompanyName} {
		fmt.Println(f, "is", known.Profile[f], "by", known.Provenance[f].Provider)
	}
	// Output:
	// filled [company.name] replaced [person.phone]
	// not taken map[person.phone:+44 20 7946 0003]
	// person.name is Ann Known by clearbit
	// person.phone is +44 20 7946 0002 by hunter
	// company.name is Acme by hunter
}
