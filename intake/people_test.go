package intake

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backstop/lead"
)

func TestADirectoryFileBecomesProfiles(t *testing.T) {
	const text = `email,name,person.title,Company,company.industry,Employees,seniority,Corporate Phone,updated,Email Opt Out
Ann@X.example,Ann Roe,CTO,X Ltd,tools,51-200, vice  president,+1 555 0100,2026-01-31,
bo@x.example,,,,,,,,31.01.2026,
,Cy Doe,,,,,,,,
dee@x.example,Dee,,,,,,,,yes
,,,,,,,,,
eve@x.example,,,,,,,,2026-01-31T10:00:00+02:00,no
`
	r, err := ReadPeople(strings.NewReader(text), "people.csv", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var people []Person
	for p, err := range r.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		people = append(people, p)
		switch {
		case p.Reject != nil:
			got = append(got, p.Reject.Field+" "+p.Reject.Reason)
		case p.Skip != "":
			got = append(got, p.Skip)
		default:
			got = append(got, p.Profile[lead.PersonEmail]+" "+p.AsOf.String())
		}
	}
	want := []string{
		"ann@x.example 2026-01-31T00:00:00.000Z", "as_of is not a date that can be read one way only", "email is empty",
		SkipUnsubscribed, SkipEmpty, "eve@x.example 2026-01-31T08:00:00.000Z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(lead.Profile{
		lead.PersonEmail: "ann@x.example", lead.PersonName: "Ann Roe", lead.PersonTitle: "CTO", lead.PersonSeniority: "vice president",
		lead.CompanyName: "X Ltd", lead.CompanyIndustry: "tools", lead.CompanyHeadcount: "51-200", lead.CompanyPhone: "+1 555 0100",
	}, people[0].Profile); diff != "" {
		t.Error(diff)
	}
}

func TestEveryProfileFieldCanBeAColumn(t *testing.T) {
	headers, cells := []string{}, []string{}
	want := lead.Profile{}
	for _, f := range lead.Fields {
		v := "v " + string(f[strings.IndexByte(string(f), '.')+1:])
		switch f {
		case lead.PersonEmail:
			v = "a@x.example"
		case lead.CompanyDomain:
			v = "x.example"
		case lead.PersonLinkedIn, lead.CompanyLinkedIn:
			v = "linkedin.com/in/a"
		}
		headers, cells, want[f] = append(headers, string(f)), append(cells, v), v
	}
	text := strings.Join(headers, ",") + "\n" + strings.Join(cells, ",") + "\n"
	r, err := ReadPeople(strings.NewReader(text), "people.csv", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p, err := range r.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, p.Profile); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := ReadPeople(strings.NewReader("Chef;Mail 1\nx;a@x.example\n"), "p.csv", Options{
		Map: map[string]string{"person.title": "Chef", "email": "Mail 1"},
	}); err != nil {
		t.Errorf("fields named in full cannot be mapped: %v", err)
	}
	if _, err := ReadPeople(strings.NewReader("name,company\n"), "p.csv", Options{}); err == nil {
		t.Error("a directory without addresses is taken")
	}
}
