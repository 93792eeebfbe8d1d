package lead

import "testing"

func TestNamesOfOneCompany(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"Acme", "ACME, Inc.", true},
		{"Acme", "Acme Robotics Europe", true},
		{"Acme Robotics", "AcmeRobotics", true},
		{"Acme Robotics", "acme-robotics", true},
		{"Acme Robotics", "Acme Holding", false},
		{"AcmeRobotics", "Acme Robotics Europe", true},
		{"The Home Depot", "Home Depot", true},
		{"Siemens Österreich", "SIEMENS AG OSTERREICH", true},
		{"Müller GmbH & Co. KG", "Muller", true},
		{"A.P. Moller", "AP Moller - Maersk", true},
		{"I.B.M.", "IBM Corporation", true},
		{"Fiat S.p.A.", "Fiat Robotics", true},
		{"Levi’s", "Levis", true},
		{"SAP", "SAP SE", true},
		{"SAP", "Sapient", false},
		{"Meta", "Metabase", false},
		{"Robotics", "Acme Robotics", false},
		{"Inc", "Acme Inc", false},
		{"AB Volvo", "Volvo", false},
		{"C++ Alliance", "C Alliance", false},
		{"", "Acme", false},
		{"", "", false},
		{"&", "-", false},
		{"'", "Acme", false},
		{"The", "The Home Depot", false},
	} {
		if SameCompany(tt.a, tt.b) != tt.want || SameCompany(tt.b, tt.a) != tt.want {
			t.Errorf("%q and %q: not %t both ways", tt.a, tt.b, tt.want)
		}
	}
}

func TestTheNameInAHost(t *testing.T) {
	for host, want := range map[string]string{
		"acme.com": "acme", "www.acme-robotics.co.uk": "acme-robotics", "ACME.example.": "acme", "localhost": "localhost", "co.uk": "co", "": "", ".": "",
	} {
		if got := SiteName(host); got != want {
			t.Errorf("%q is called %q, want %q", host, got, want)
		}
	}
}
