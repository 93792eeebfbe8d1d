package main

import (
	"strings"
	"testing"

	"backstop/testkit"
)

const (
	oneRejected = "email\nann@one.example\nnobody\n"
	rejectedCSV = "line,field,reason,cure,email\n3,email,is not an email address,correct it or empty the cell,nobody\n"
	oneCounts   = "read 2: accepted 1, duplicate 0, skipped 0, rejected 1\n"
)

func TestRejectsGoWhere(t *testing.T) {
	redis := testkit.Redis(t)
	tests := []struct {
		name    string
		stdin   string
		args    string
		files   string // there afterwards
		rejects string // the file with the rejects
		stdout  string
		says    string // on standard error
	}{
		{"a file's own by default", "", "file leads.csv", "leads.csv leads.csv.rejected.csv", "leads.csv.rejected.csv", oneCounts, "leads.csv: 1 rows were rejected; see leads.csv.rejected.csv"},
		{"standard input's by default", oneRejected, "file -", "leads.csv stdin.rejected.csv", "stdin.rejected.csv", oneCounts, "see stdin.rejected.csv"},
		{"a file that is named", "", "file leads.csv --rejects bad.csv", "bad.csv leads.csv", "bad.csv", oneCounts, "see bad.csv"},
		{"a file that is named for standard input", oneRejected, "file --rejects bad.csv -", "bad.csv leads.csv", "bad.csv", oneCounts, "see bad.csv"},
		{"standard output", oneRejected, "file - --rejects -", "leads.csv", "", rejectedCSV, oneCounts},
		{"standard output with counts for a program", oneRejected, "file - --rejects - --json", "leads.csv", "", rejectedCSV, `{"read":2,"accepted":1,"duplicate":0,"skipped":0,"rejected":1}`},
		{"nowhere when there is none", "email\nann@one.example\n", "file - --rejects bad.csv", "leads.csv", "", "read 1: accepted 1, duplicate 0, skipped 0, rejected 0\n", ""},
		{"a directory's own by default", "", "directory leads.csv", "leads.csv leads.csv.rejected.csv", "leads.csv.rejected.csv", "read 2: inserted 1, updated 0, skipped 0, rejected 1\n", "see leads.csv.rejected.csv"},
		{"a directory's on standard output", oneRejected, "directory - --rejects -", "leads.csv", "", rejectedCSV, "read 2: inserted 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			setUp(t, redis)
			write(t, "leads.csv", oneRejected)
			got := run(t, tt.stdin, strings.Fields(tt.args)...)
			if got.code != 0 || got.stdout != tt.stdout || !strings.Contains(got.stderr, tt.says) {
				t.Errorf("exit %d, standard output %q, standard error %q", got.code, got.stdout, got.stderr)
			}
			if left := files(t); left != tt.files {
				t.Errorf("files %q, want %q", left, tt.files)
			}
			if tt.rejects != "" && read(t, tt.rejects) != rejectedCSV {
				t.Errorf("the rejects are %q", read(t, tt.rejects))
			}
		})
	}
}

func TestRejectsThatCannotBeWrittenAreRefusedFirst(t *testing.T) {
	redis := testkit.Redis(t)
	for name, tt := range map[string]struct {
		args string
		code int
		says string
	}{
		"of several inputs":      {"file leads.csv more.csv --rejects bad.csv", 2, "one input"},
		"into the input":         {"file leads.csv --rejects ./leads.csv", 2, "the input itself"},
		"into a directory's own": {"directory leads.csv --rejects leads.csv", 2, "the input itself"},
	} {
		t.Run(name, func(t *testing.T) {
			setUp(t, redis)
			write(t, "leads.csv", oneRejected)
			write(t, "more.csv", twoLeads)
			got := run(t, "", strings.Fields(tt.args)...)
			if got.code != tt.code || !strings.Contains(got.stderr, tt.says) || got.stdout != "" && !strings.HasPrefix(got.stdout, "read 0") {
				t.Errorf("exit %d, %q, %s", got.code, got.stdout, got.stderr)
			}
			if read(t, "leads.csv") != oneRejected {
				t.Error("the input was overwritten")
			}
		})
	}
}

func TestEachOfSeveralFilesHasItsOwnRejects(t *testing.T) {
	setUp(t, testkit.Redis(t))
	write(t, "a.csv", oneRejected)
	write(t, "b.csv", "mail;name\nnobody;Ann\n;Ben Roe\n")
	got := run(t, "", "file", "a.csv", "b.csv")
	if got.code != 0 || got.stdout != "read 4: accepted 2, duplicate 0, skipped 0, rejected 2\n" {
		t.Errorf("exit %d, %q, %s", got.code, got.stdout, got.stderr)
	}
	if b := read(t, "b.csv.rejected.csv"); read(t, "a.csv.rejected.csv") != rejectedCSV || !strings.Contains(b, "cure,mail,name\n2,email,") {
		t.Errorf("the second's rejects are %q", b)
	}
}
