package lead

import "testing"

// What every row that is taken in costs before it is stored.
func BenchmarkPersonKeyOfANormalisedLead(b *testing.B) {
	for name, l := range map[string]Lead{
		"by address": {Email: "Ann.Roe+news@GoogleMail.com", Name: "Ann Roe", Company: "Acme Robotics, Inc.", Domain: "https://www.acme-robotics.example/"},
		"by IDN":     {Email: "ann@bücher.example", Name: "Änn  Röe"},
		"by name":    {Name: "Dr. Ann Roe", Company: "Acme Robotics, Inc.", Domain: "acme-robotics.example"},
		"by profile": {Name: "Ann Roe", LinkedIn: "https://www.linkedin.com/in/ann-roe/?x=1"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n, err := Normalize(l)
				if err != nil || PersonKey(n) == "" {
					b.Fatal(err)
				}
			}
		})
	}
}
