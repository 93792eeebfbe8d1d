package sandbox_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
	"backstop/providers/sandbox"
)

func TestSampleLeads(t *testing.T) {
	leads := sandbox.SampleLeads(2000, 1)
	seen := map[string]bool{}
	var without, free, titled, domains int
	for _, l := range leads {
		same, err := lead.Normalize(l)
		if err != nil {
			t.Fatalf("%+v: %v", l, err)
		}
		if d := cmp.Diff(l, same); d != "" {
			t.Fatalf("not normalised: %s", d)
		}
		if seen[l.ID()] || l.Email != "" && seen[l.Email] {
			t.Fatalf("twice: %+v", l)
		}
		seen[l.ID()], seen[l.Email] = true, true
		_, host, _ := strings.Cut(l.Email, "@")
		switch {
		case l.Email == "":
			without++
		case lead.IsFreeMail(host):
			free++
		case !strings.HasSuffix(host, ".example"):
			t.Errorf("%s may belong to somebody", host)
		}
		if l.Title != "" {
			titled++
		}
		if l.Domain != "" {
			domains++
		}
	}
	for name, n := range map[string]int{"without an address": without, "free mail": free, "with a title": titled, "with a domain": domains} {
		if n < 60 || n > 800 {
			t.Errorf("%d of 2000 leads are %s", n, name)
		}
	}
	if !cmp.Equal(leads[:100], sandbox.SampleLeads(100, 1)) || cmp.Equal(leads[:100], sandbox.SampleLeads(100, 2)) {
		t.Error("the leads do not follow from the seed")
	}
}

func TestPeopleFollowFromTheirAddress(t *testing.T) {
	p := sandbox.Person("maria.garcia@northwind-logistics.example")
	if p[lead.PersonName] != "Maria Garcia" || p[lead.CompanyName] != "Northwind Logistics" || p[lead.CompanyDomain] != "northwind-logistics.example" {
		t.Errorf("person is %v", p)
	}
	if other := sandbox.Person("x17@northwind-logistics.example"); other[lead.PersonName] == "" || other[lead.CompanyHeadcount] != p[lead.CompanyHeadcount] {
		t.Errorf("a colleague is %v", other)
	}
	if free := sandbox.Person("maria.garcia@gmail.com"); lead.IsFreeMail(free[lead.CompanyDomain]) || free[lead.PersonEmailStatus] != "webmail" {
		t.Errorf("somebody with a free-mail address is %v", free)
	}
	if !cmp.Equal(p, sandbox.Person("Maria.Garcia@northwind-logistics.example")) {
		t.Error("the case of the address makes another person")
	}
}
