package lead

import "testing"

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
