package main

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"backstop/intake"
	"backstop/lead"
)

func outcome() lead.Outcome {
	at := lead.At(time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC))
	return lead.Outcome{
		LeadID: "ld_x", RequestID: "req_x", Source: "crm", SourceID: "7", Status: lead.StatusPartial, Reason: "exhausted: R&D",
		Profile: lead.Profile{
			lead.PersonName: "Ann Lee", lead.PersonTitle: "=HYPERLINK(1)", lead.PersonPhone: "+1 555-0100",
			lead.CompanyName: "-2+3", lead.PersonEmail: "ann@one.example",
		},
		Missing:    []lead.Field{lead.CompanyDomain},
		Provenance: map[lead.Field]lead.Origin{lead.PersonTitle: {Provider: "hunter", AsOf: at}},
		Trail:      []lead.TrailEntry{{Attempt: 1, Provider: "clearbit", Class: lead.ClassTransient, Status: 503, At: at, Millis: 12}},
		Credits:    map[string]float64{"hunter": 0.5, "clearbit": 1},
		AcceptedAt: at, StartedAt: at, SettledAt: at,
	}
}

func export(t *testing.T, format string, outcomes ...lead.Outcome) string {
	t.Helper()
	var b strings.Builder
	w, err := newOutcomeWriter(format, &b)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if err := w.write(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.end(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestALineOfJSONHasTheDocumentedForm(t *testing.T) {
	got := export(t, "jsonl", outcome())
	const want = `{"lead_id":"ld_x","request_id":"req_x","source":"crm","source_id":"7","status":"partial","reason":"exhausted: R&D",` +
		`"profile":{"company":{"name":"-2+3"},"person":{"email":"ann@one.example","name":"Ann Lee","phone":"+1 555-0100","title":"=HYPERLINK(1)"}},` +
		`"missing":["company.domain"],"provenance":{"person.title":{"provider":"hunter","as_of":"2026-01-02T03:04:05.678Z"}},` +
		`"trail":[{"attempt":1,"provider":"clearbit","class":"transient","status":503,"at":"2026-01-02T03:04:05.678Z","ms":12}],"credits":{"clearbit":1,"hunter":0.5},` +
		`"accepted_at":"2026-01-02T03:04:05.678Z","started_at":"2026-01-02T03:04:05.678Z","settled_at":"2026-01-02T03:04:05.678Z"}` + "\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var back lead.Outcome
	if err := json.Unmarshal([]byte(got), &back); err != nil || back.Profile[lead.PersonName] != "Ann Lee" {
		t.Errorf("it cannot be read back: %v, %+v", err, back)
	}
}

func TestACSVCellRunsNoFormulaAndAPhoneNumberStaysOne(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(export(t, "csv", outcome()))).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	cell := func(name string) string {
		for i, h := range rows[0] {
			if h == name {
				return rows[1][i]
			}
		}
		t.Errorf("there is no column %s", name)
		return ""
	}
	for name, want := range map[string]string{
		"person.title": "'=HYPERLINK(1)", "company.name": "-2+3", "person.phone": "+1 555-0100",
		"missing": "company.domain", "trail": "clearbit: transient 503", "status": "partial", "credits": "clearbit 1, hunter 0.5",
	} {
		if name == "company.name" {
			want = "'" + want
		}
		if got := cell(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// A user may correct an export and read it in again.
func TestAnExportCanBeReadInAgain(t *testing.T) {
	r, err := intake.Read(strings.NewReader(export(t, "csv", outcome())), "outcomes.csv", intake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range r.Rows(t.Context()) {
		if err != nil || row.Reject != nil {
			t.Fatalf("%v, %+v", err, row.Reject)
		}
		if l := row.Lead; l.Title != "=HYPERLINK(1)" || l.Phone != "+1 555-0100" || l.Company != "-2+3" || l.Email != "ann@one.example" {
			t.Errorf("it came back as %+v", l)
		}
	}
}

func TestAnEmptyExportIsAValidFile(t *testing.T) {
	if got := export(t, "csv"); !strings.HasPrefix(got, "lead_id,request_id,") || strings.Count(got, "\n") != 1 {
		t.Errorf("csv: %q", got)
	}
	if got := export(t, "jsonl"); got != "" {
		t.Errorf("jsonl: %q", got)
	}
	if got := export(t, "table"); !strings.Contains(got, "no settled lead") {
		t.Errorf("table: %q", got)
	}
}

func TestALongTableIsSeveral(t *testing.T) {
	all := func(n int) []lead.Outcome { return slices.Repeat([]lead.Outcome{outcome()}, n) }
	for n, tables := range map[int]int{1: 1, tablePage: 1, tablePage + 1: 2, 2*tablePage + 1: 3} {
		got := export(t, "table", all(n)...)
		if heads, rows := strings.Count(got, "STATUS"), strings.Count(got, "ld_x"); heads != tables || rows != n {
			t.Errorf("%d outcomes: %d tables with %d rows in all, want %d tables", n, heads, rows, tables)
		}
	}
	w := newTableWriter(io.Discard)
	for _, o := range all(tablePage) {
		if err := w.write(o); err != nil {
			t.Fatal(err)
		}
	}
	if text := w.t.Render(); strings.Contains(text, "ld_x") {
		t.Error("a full table is still in memory after it was written")
	}
}

func TestSince(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	for s, want := range map[string]time.Time{
		"":                     {},
		"24h":                  now.Add(-24 * time.Hour),
		"-24h":                 now.Add(-24 * time.Hour),
		"2026-01-31":           time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
		"2026-01-31T12:00:00Z": time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC),
	} {
		got, err := parseSince(s, now)
		if err != nil || !got.Equal(want) {
			t.Errorf("%q: got %v, %v; want %v", s, got, err, want)
		}
	}
	if _, err := parseSince("yesterday", now); err == nil {
		t.Error("yesterday is accepted")
	}
}
