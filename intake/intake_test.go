package intake

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"backstop/lead"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// readAll reads a text and fails the test on any error.
func readAll(t *testing.T, name, text string, o Options) (*Reader, []Row) {
	t.Helper()
	r, err := Read(strings.NewReader(text), name, o)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return r, rowsOf(t, r)
}

func rowsOf(t *testing.T, r *Reader) []Row {
	t.Helper()
	var rows []Row
	for row, err := range r.Rows(t.Context()) {
		if err != nil {
			t.Fatalf("Rows: %v", err)
		}
		rows = append(rows, row)
	}
	return rows
}

// brief writes rows so that a table can hold them: the line and then the address
// or name, "skip: …" or "reject field: reason".
func brief(rows []Row) string {
	var out []string
	for _, r := range rows {
		var s string
		switch {
		case r.Reject != nil:
			s = strings.TrimSpace("reject " + r.Reject.Field + ": " + r.Reject.Reason)
		case r.Skip != "":
			s = "skip: " + r.Skip
		case r.Lead.Email != "":
			s = r.Lead.Email
		default:
			s = r.Lead.Name
		}
		out = append(out, fmt.Sprintf("%d %s", r.Line, s))
	}
	return strings.Join(out, "\n")
}

func checkRows(t *testing.T, rows []Row, want ...string) {
	t.Helper()
	if got := brief(rows); got != strings.Join(want, "\n") {
		t.Errorf("rows:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
	for _, r := range rows {
		if r.Reject != nil && (r.Reject.Cure == "" || r.Reject.Line != r.Line) {
			t.Errorf("a reject without its line or a cure: %+v", r.Reject)
		}
	}
}

func TestExportsOfSourceSystemsAreReadAsTheyCome(t *testing.T) {
	ada := lead.Lead{
		Email: "ada@harborfinch.example", Name: "Ada Quill", GivenName: "Ada", FamilyName: "Quill",
		Title: "Head of Logistics", Company: "Harbor Finch",
	}
	with := func(f func(*lead.Lead)) lead.Lead { l := ada; f(&l); return l }
	tests := []struct {
		file     string
		encoding string
		first    lead.Lead
		rows     []string
	}{
		{"salesforce_report.csv", "utf-8", with(func(l *lead.Lead) {
			l.Email, l.Company, l.SourceID = "ada.quill@harborfinch.example", "Harbor & Finch, Ltd.", "00Q5e00000AbCdE"
		}), []string{"2 ada.quill@harborfinch.example", "3 skip: unsubscribed", "4 cleo@marsh.example"}},
		{"salesforce_api.csv", "utf-8", with(func(l *lead.Lead) { l.Title, l.SourceID = "", "00Q000000000001AAA" }),
			[]string{"2 ada@harborfinch.example", "3 skip: deleted in the source", "4 skip: unsubscribed"}},
		{"hubspot.csv", "utf-8", with(func(l *lead.Lead) {
			l.SourceID, l.Domain, l.LinkedIn = "101", "harborfinch.example", "linkedin.com/in/ada-quill-example"
		}), []string{"2 ada@harborfinch.example", "3 skip: unsubscribed"}},
		{"pipedrive.csv", "utf-8", with(func(l *lead.Lead) {
			l.SourceID, l.GivenName, l.FamilyName, l.Phone = "7", "", "", "+1 555 0100"
		}), []string{"2 ada@harborfinch.example", "3 skip: unsubscribed"}},
		{"apollo.csv", "utf-8", with(func(l *lead.Lead) {
			l.SourceID, l.Company, l.Phone = "64f0c0ffee", "Harbor Finch, Inc.", "+15550100"
			l.LinkedIn, l.Domain, l.Location = "linkedin.com/in/ada-quill-example", "harborfinch.example", "Portland, Maine, United States"
		}), []string{"2 ada@harborfinch.example"}},
		{"linkedin.csv", "utf-8", with(func(l *lead.Lead) { l.LinkedIn = "linkedin.com/in/ada-quill-example" }),
			[]string{"5 ada@harborfinch.example", "6 Bo Linden"}},
		{"mailchimp_unsubscribed.csv", "utf-8", lead.Lead{}, []string{"2 skip: unsubscribed"}},
		{"mailchimp_cleaned.csv", "utf-8", lead.Lead{}, []string{"2 skip: unsubscribed"}},
		{"mailchimp_subscribed.csv", "utf-8", lead.Lead{
			Email: "cleo@marsh.example", Name: "Cleo Marsh", GivenName: "Cleo", FamilyName: "Marsh", SourceID: "900003",
		}, []string{"2 cleo@marsh.example"}},
		{"meta_lead_ads.csv", "utf-16le", with(func(l *lead.Lead) {
			l.SourceID, l.GivenName, l.FamilyName, l.Phone = "l:555000111", "", "", "+915550100"
		}), []string{"2 ada@harborfinch.example"}},
		{"leads.jsonl", "utf-8", with(func(l *lead.Lead) {
			l.SourceID, l.GivenName, l.FamilyName, l.Title = "900719925474099301", "", "", ""
		}), []string{
			"1 ada@harborfinch.example", "3 bo@tidewater.example", "4 skip: unsubscribed",
			"5 reject email: is a list or an object, not text", "6 reject : is not valid JSON",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			f, err := os.Open(filepath.Join("testdata", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r, err := Read(f, f.Name(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			rows := rowsOf(t, r)
			checkRows(t, rows, tt.rows...)
			if r.Encoding() != tt.encoding {
				t.Errorf("encoding %s, want %s", r.Encoding(), tt.encoding)
			}
			if tt.first != (lead.Lead{}) {
				tt.first.Source = tt.file
			}
			if rows[0].Lead != tt.first {
				t.Errorf("first lead\n%+v\nwant\n%+v", rows[0].Lead, tt.first)
			}
		})
	}
}

func TestColumnsAreShownWithWhatTheyWereTakenFor(t *testing.T) {
	r, _ := readAll(t, "x.csv", "Email Address,,Lead Owner,Job Title\n", Options{})
	if got := fmt.Sprint(r.Columns()); got != "[Email Address -> email  -> ignored Lead Owner -> ignored Job Title -> title]" {
		t.Errorf("columns %s", got)
	}
	if _, rows := readAll(t, "x.csv", "Email Address,,Lead Owner,Job Title\n", Options{}); len(rows) != 0 {
		t.Errorf("a file of headers only has rows: %v", rows)
	}
}

func TestTheSourceIsTheOriginalFile(t *testing.T) {
	for name, want := range map[string]string{
		"/in/leads.csv": "leads.csv", "-": "stdin", "in/leads.csv.rejected.csv": "leads.csv",
		"a.csv.rejected.csv.rejected.csv": "a.csv", ".rejected.csv": ".rejected.csv",
	} {
		_, rows := readAll(t, name, "email\na@x.example\n", Options{})
		if rows[0].Lead.Source != want {
			t.Errorf("%s: source %q, want %q", name, rows[0].Lead.Source, want)
		}
	}
	_, rows := readAll(t, "x.csv", "email,source\na@x.example,web\n", Options{Source: "crm"})
	if rows[0].Lead.Source != "crm" {
		t.Errorf("source %q, want the one that was asked for", rows[0].Lead.Source)
	}
	_, rows = readAll(t, "x.csv", "email,source\na@x.example,web\n", Options{Map: map[string]string{"source": "Source"}})
	if rows[0].Lead.Source != "web" {
		t.Errorf("source %q, want the mapped column's", rows[0].Lead.Source)
	}
}

func TestRowsThatAskToBeLeftAloneAre(t *testing.T) {
	tests := []struct{ header, value, want string }{
		{"IsDeleted", "TRUE", SkipDeleted},
		{"IsDeleted", "1", SkipDeleted},
		{"IsDeleted", "false", ""},
		{"Email Opt Out", "1", SkipUnsubscribed},
		{"HasOptedOutOfEmail", "true", SkipUnsubscribed},
		{"HasOptedOutOfEmail", "0", ""},
		{"Unsubscribed from all email", "Yes", SkipUnsubscribed},
		{"hs_email_optout", "since May", SkipUnsubscribed}, // not clearly a no
		{"UNSUB_TIME", "2026-01-02 03:04:05", SkipUnsubscribed},
		{"CLEAN_TIME", "2026-01-02 03:04:05", SkipUnsubscribed},
		{"UNSUB_TIME", " ", ""},
		{"Marketing status", "Unsubscribed", SkipUnsubscribed},
		{"Marketing status", "Subscribed", ""},
		{"Do Not Contact", "x", SkipUnsubscribed},
	}
	for _, tt := range tests {
		t.Run(tt.header+"="+tt.value, func(t *testing.T) {
			_, rows := readAll(t, "x.csv", "Email,"+tt.header+"\nnot an address,"+tt.value+"\n", Options{})
			if rows[0].Skip != tt.want {
				t.Errorf("skip %q, want %q", rows[0].Skip, tt.want)
			}
			if (tt.want == "") != (rows[0].Reject != nil) {
				t.Errorf("a row to be left alone is checked, or another is not: %+v", rows[0].Reject)
			}
		})
	}
	t.Run("one yes of several columns is enough", func(t *testing.T) {
		_, rows := readAll(t, "x.csv", "Email,Unsubscribed,HasOptedOutOfEmail\na@x.example,no,yes\nb@x.example,yes,no\n", Options{})
		checkRows(t, rows, "2 skip: unsubscribed", "3 skip: unsubscribed")
	})
	t.Run("a column of the user's own", func(t *testing.T) {
		_, rows := readAll(t, "x.csv", "Email,Customer\na@x.example,yes\nb@x.example,no\n", Options{Map: map[string]string{"skip": "customer"}})
		checkRows(t, rows, "2 skip: marked to be skipped", "3 b@x.example")
	})
}
