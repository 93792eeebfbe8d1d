package lead

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestIDsStayTheSame(t *testing.T) {
	// These are in ledgers: a change here would take every lead in again.
	for _, tt := range []struct {
		lead Lead
		want string
	}{
		{Lead{Source: "crm", SourceID: "7", Email: "a@x.example"}, "ld_t2dqrtfdan6xhzosh356jzmuum"},
		{Lead{Source: "crm", Email: "a@x.example"}, "ld_3k4lqebe6ypoekd3fcndouke4e"},
		{Lead{Name: "Ann Roe", Company: "X"}, "ld_snhpvqbi73d6mq2mtdwn6wz7ti"},
	} {
		if got := tt.lead.ID(); got != tt.want {
			t.Errorf("%+v has the ID %s, want %s", tt.lead, got, tt.want)
		}
	}
}

func TestALeadsIDDependsOnWhatIdentifiesIt(t *testing.T) {
	base := Lead{Source: "crm", SourceID: "7", Email: "a@x.example", Name: "Ann"}
	same := map[string][2]Lead{
		"another address at the same source":     {base, {Source: "crm", SourceID: "7", Email: "b@x.example"}},
		"another source without source ID":       {{Source: "a", Email: "a@x.example"}, {Source: "b", Email: "a@x.example", Name: "Ann"}},
		"another spelling of a Gmail address":    {{Email: "a.b@gmail.com"}, {Email: "ab+x@googlemail.com"}},
		"a source ID without a source":           {{SourceID: "7", Email: "a@x.example"}, {Email: "a@x.example"}},
		"another case of a name without address": {{Name: "ANN ROE"}, {Name: "Ann Roe"}},
	}
	for name, pair := range same {
		if pair[0].ID() != pair[1].ID() {
			t.Errorf("%s changes the ID", name)
		}
	}
	other := map[string]Lead{
		"another source":    {Source: "web", SourceID: "7"},
		"another source ID": {Source: "crm", SourceID: "8"},
		"no source ID":      {Source: "crm", Email: "a@x.example"},
		"a shifted border":  {Source: "crm7", SourceID: ""},
		"only a name":       {Name: "Ann"},
		"another company":   {Name: "Ann", Company: "X"},
	}
	seen := map[string]string{base.ID(): "the lead itself"}
	for name, l := range other {
		if twin, ok := seen[l.ID()]; ok {
			t.Errorf("%s has the ID of %s", name, twin)
		}
		seen[l.ID()] = name
	}
	for id := range seen {
		if !regexp.MustCompile(`^ld_[a-z2-7]{26}$`).MatchString(id) {
			t.Errorf("ID %q", id)
		}
	}
}

func TestMergingSaysWhatItFilled(t *testing.T) {
	var f Facts
	source, hunter := Origin{Provider: OriginSource}, Origin{Provider: "hunter", AsOf: FromMillis(1)}
	if got := f.Merge(Profile{PersonName: "Ann", PersonTitle: " "}, source, nil).Filled; !cmp.Equal(got, []Field{PersonName}) {
		t.Errorf("filled %v", got)
	}
	got := f.Merge(Profile{PersonName: "Bo", PersonTitle: " CTO ", CompanyName: "X", CompanyDomain: ""}, hunter, nil).Filled
	if !cmp.Equal(got, []Field{CompanyName, PersonTitle}) {
		t.Errorf("filled %v", got)
	}
	want := Facts{
		Profile:    Profile{PersonName: "Ann", PersonTitle: "CTO", CompanyName: "X"},
		Provenance: map[Field]Origin{PersonName: source, PersonTitle: hunter, CompanyName: hunter},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
	c := f.Clone()
	c.Merge(Profile{CompanyDomain: "x.example"}, hunter, nil)
	c.Profile[PersonName] = "Cy"
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("a clone shares with its original: %s", diff)
	}
	if got := f.Merge(nil, source, nil); got.Filled != nil {
		t.Errorf("nothing filled %v", got)
	}
}

func TestMissingKeepsTheOrderOfWhatIsWanted(t *testing.T) {
	p := Profile{PersonName: "Ann", PersonTitle: ""}
	if got := p.Missing([]Field{PersonTitle, PersonName, CompanyName}); !cmp.Equal(got, []Field{PersonTitle, CompanyName}) {
		t.Errorf("missing %v", got)
	}
	if got := p.Missing([]Field{PersonName}); got == nil || len(got) != 0 {
		t.Errorf("missing %#v, want an empty list: it is [] in JSON", got)
	}
}

func TestASourcesOwnFieldsAreAProfile(t *testing.T) {
	l := Lead{Email: "a@x.example", Name: "Ann", Company: "X", Source: "crm", SourceID: "7"}
	want := Profile{PersonEmail: "a@x.example", PersonName: "Ann", CompanyName: "X"}
	if diff := cmp.Diff(want, l.Profile()); diff != "" {
		t.Error(diff)
	}
}

func TestAnOutcomeIsTheSameAfterJSON(t *testing.T) {
	at := At(time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("", 3600)))
	want := Outcome{
		LeadID: "ld_x", RequestID: "r", Source: "crm", SourceID: "7", Status: StatusPartial, Reason: "exhausted",
		Profile: Profile{PersonName: "Ann", CompanyName: "X"}, Missing: []Field{PersonTitle},
		Provenance: map[Field]Origin{PersonName: {Provider: "source"}, CompanyName: {Provider: "hunter", AsOf: at}},
		Trail:      []TrailEntry{{Attempt: 1, Provider: "clearbit", Class: ClassTransient, Status: 503, At: at, Millis: 12}},
		AcceptedAt: at, SettledAt: at,
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		`"profile":{"company":{"name":"X"},"person":{"name":"Ann"}}`, `"missing":["person.title"]`,
		`"accepted_at":"2026-01-02T02:04:05.678Z"`, `"started_at":null`, `"ms":12`, `"status":"partial"`,
	} {
		if !strings.Contains(string(b), s) {
			t.Errorf("%s\nlacks %s", b, s)
		}
	}
	var got Outcome
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestProfilesInJSON(t *testing.T) {
	if b, err := json.Marshal(Profile(nil)); err != nil || string(b) != `{"company":{},"person":{}}` {
		t.Errorf("an empty profile is %s, %v", b, err)
	}
	if _, err := json.Marshal(Profile{"pet.name": "Rex"}); err == nil {
		t.Error("a field of no group is written")
	}
	var p Profile
	if err := json.Unmarshal([]byte(`{"person":7}`), &p); err == nil {
		t.Error("a group that is a number is read")
	}
	all := Profile{}
	for _, f := range Fields {
		all[f] = string(f)
		if got, err := ParseField(string(f)); err != nil || got != f {
			t.Errorf("%s: %v, %v", f, got, err)
		}
	}
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &p); err != nil || !cmp.Equal(all, p) {
		t.Errorf("got %v, %v", p, err)
	}
	if _, err := ParseField("person.pet"); err == nil || !strings.Contains(err.Error(), "person.title") {
		t.Errorf("error %v does not list the fields", err)
	}
}

func TestTimesAreToTheMillisecondInUTC(t *testing.T) {
	for in, want := range map[string]string{
		`"2026-01-02T03:04:05.6789+01:00"`: `"2026-01-02T02:04:05.678Z"`, `"2026-01-02T03:04:05Z"`: `"2026-01-02T03:04:05.000Z"`, `null`: `null`,
	} {
		var v Time
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(err)
		}
		if b, err := json.Marshal(v); err != nil || string(b) != want {
			t.Errorf("%s gives %s, %v", in, b, err)
		}
		if FromMillis(v.Millis()) != v {
			t.Errorf("%s changes through milliseconds", in)
		}
	}
	var v Time
	if err := json.Unmarshal([]byte(`"yesterday"`), &v); err == nil {
		t.Error("yesterday is a time")
	}
	if (Time{}).String() != "" {
		t.Error("the zero time is shown")
	}
}

func TestATrailIsToldInOneLine(t *testing.T) {
	e := func(provider string, c Class, status int, detail string) TrailEntry {
		return TrailEntry{Provider: provider, Class: c, Status: status, Detail: detail}
	}
	bad, no := e("clearbit", ClassTransient, 503, "x"), e("hunter", ClassNoData, 404, "")
	for _, tt := range []struct {
		trail []TrailEntry
		want  string
	}{
		{nil, ""},
		{[]TrailEntry{bad}, "clearbit: transient 503"},
		{[]TrailEntry{bad, bad, bad, bad, no}, "clearbit: transient 503 x4; hunter: no_data 404"},
		{[]TrailEntry{bad, e("clearbit", ClassRateLimited, 429, ""), bad}, "clearbit: transient 503, rate_limited 429, transient 503"},
		{[]TrailEntry{bad, no, bad}, "clearbit: transient 503; hunter: no_data 404; clearbit: transient 503"},
		{[]TrailEntry{e("clearbit", ClassSkip, 0, "circuit open"), e("hunter", ClassSkip, 0, "")}, "clearbit: skip (circuit open); hunter: skip"},
	} {
		if got := Summary(tt.trail); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestStatusesAndClasses(t *testing.T) {
	for _, s := range Statuses {
		if got, err := ParseStatus(string(s)); err != nil || got != s {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	if _, err := ParseStatus("full"); err == nil {
		t.Error("full is a status")
	}
	for _, c := range Classes {
		if c.HasData() && c.IsNegative() {
			t.Errorf("%s brings data and none", c)
		}
	}
	if !ClassOK.HasData() || !ClassPartial.HasData() || !ClassNoData.IsNegative() || !ClassInvalidInput.IsNegative() || ClassTransient.IsNegative() {
		t.Error("a class is taken for another kind")
	}
}

func TestOutcomesAreOrdered(t *testing.T) {
	rank := map[Status]int{StatusSuppressed: 4, StatusEnriched: 3, StatusPartial: 2}
	outcome := rapid.Custom(func(t *rapid.T) Outcome {
		o := Outcome{Status: rapid.SampledFrom(Statuses).Draw(t, "status"), Profile: Profile{}}
		o.Missing = Fields[:rapid.IntRange(0, len(Fields)).Draw(t, "missing")]
		for _, f := range Fields[:rapid.IntRange(0, len(Fields)).Draw(t, "known")] {
			o.Profile[f] = "x"
		}
		return o
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := outcome.Draw(t, "a"), outcome.Draw(t, "b")
		want := 0 // as the documentation of Score says it
		for _, d := range []int{
			rank[a.Status] - rank[b.Status], len(b.Missing) - len(a.Missing), len(a.Profile) - len(b.Profile),
		} {
			if want == 0 {
				want = d
			}
		}
		got := a.Score() - b.Score()
		if (got > 0) != (want > 0) || (got < 0) != (want < 0) {
			t.Fatalf("scores %d and %d, but the order is %d", a.Score(), b.Score(), want)
		}
	})
	if (Outcome{}).Score() >= (Outcome{Status: StatusPartial, Missing: Fields}).Score() {
		t.Error("no outcome is as good as one")
	}
}
