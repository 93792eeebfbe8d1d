package main

import (
	"strings"
	"testing"
	"time"

	"backstop/testkit"
)

const (
	twoLeads  = "email\nann@one.example\nben@two.example\n"
	twoCounts = `{"read":2,"accepted":2,"duplicate":0,"skipped":0,"rejected":0}` + "\n"
)

func TestWithoutRedisAFileIsAcceptedAndWaits(t *testing.T) {
	for name, url := range map[string]func(*testing.T) string{
		"a Redis that refuses connections": func(*testing.T) string { return refusingRedis },
		"a Redis that hangs":               hangingRedis,
	} {
		t.Run(name, func(t *testing.T) {
			setUp(t, url(t))
			write(t, "leads.csv", twoLeads)
			began := time.Now()
			got := run(t, "", "file", "leads.csv", "--json")
			if got.code != 0 || got.stdout != twoCounts {
				t.Errorf("exit %d, printed %q, %s", got.code, got.stdout, got.stderr)
			}
			if n := strings.Count(got.stderr, "2 accepted leads are in the ledger and wait for a worker"); n != 1 {
				t.Errorf("it is said %d times that leads wait: %s", n, got.stderr)
			}
			if n := strings.Count(got.stderr, "\n"); n > 2 {
				t.Errorf("it takes %d lines: %s", n, got.stderr)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			again := run(t, "", "file", "leads.csv")
			if again.code != 0 || again.stdout != "read 2: accepted 0, duplicate 2, skipped 0, rejected 0\n" {
				t.Errorf("again: exit %d, printed %q, %s", again.code, again.stdout, again.stderr)
			}
		})
	}
}

func TestWithRedisNoLeadWaits(t *testing.T) {
	setUp(t, testkit.Redis(t))
	if got := run(t, twoLeads, "file", "-", "--json"); got.code != 0 || got.stdout != twoCounts || got.stderr != "" {
		t.Errorf("exit %d, printed %q, said %q", got.code, got.stdout, got.stderr)
	}
}

// Exit 1 says that something is wrong, 2 that the use or the configuration is.
func TestWhatACommandNeedsAndHowItEndsWithoutIt(t *testing.T) {
	refusing := []string{"BACKSTOP_REDIS__URL=" + refusingRedis}
	noLedger := append(refusing, "BACKSTOP_LEDGER__URL="+refusingPostgres)
	tests := []struct {
		name string
		env  []string
		args string
		code int
		says string
	}{
		{"outcomes needs no Redis", refusing, "outcomes", 0, "no settled lead"},
		{"outcomes for a program", refusing, "outcomes --format csv", 0, "lead_id,"},
		{"trace of an unknown lead", refusing, "trace nobody@one.example", 1, "no lead has this"},
		{"directory needs no Redis", refusing, "directory people.csv", 0, "inserted 1"},
		{"a dry run of replay needs no Redis", refusing, "replay --dry-run", 0, "would replay 0"},
		{"a dry run of forget needs no Redis", refusing, "forget ann@one.example --dry-run", 0, "would erase 0 leads"},
		{"forget needs Redis", refusing, "forget ann@one.example", 1, "Redis"},
		{"replay needs Redis", refusing, "replay", 1, "Redis"},

		{"file without a ledger", noLedger, "file leads.csv", 1, "BACKSTOP_LEDGER__URL"},
		{"outcomes without a ledger", noLedger, "outcomes", 1, "BACKSTOP_LEDGER__URL"},
		{"trace without a ledger", noLedger, "trace x", 1, "BACKSTOP_LEDGER__URL"},
		{"directory without a ledger", noLedger, "directory people.csv", 1, "BACKSTOP_LEDGER__URL"},
		{"replay without a ledger", noLedger, "replay", 1, "BACKSTOP_LEDGER__URL"},
		{"forget without a ledger", noLedger, "forget ann@one.example", 1, "BACKSTOP_LEDGER__URL"},
		{"a ledger in a folder that cannot be", []string{"BACKSTOP_LEDGER__URL=sqlite:///dev/null/x.db"}, "outcomes", 1, "ledger"},

		{"a ledger URL of another kind", []string{"BACKSTOP_LEDGER__URL=mysql://h/x"}, "outcomes", 2, "ledger.url"},
		{"a ledger URL that is none", []string{"BACKSTOP_LEDGER__URL=postgres://h:port/x"}, "outcomes", 2, "BACKSTOP_LEDGER__URL"},
		{"a ledger URL without a file", []string{"BACKSTOP_LEDGER__URL=sqlite://"}, "outcomes", 2, "names no file"},
		{"a Redis URL of another kind", []string{"BACKSTOP_REDIS__URL=http://h"}, "file leads.csv", 2, "redis.url"},
		{"a database of Redis that is none", []string{"BACKSTOP_REDIS__URL=redis://h/x"}, "file leads.csv", 2, "redis.url"},
		{"an unknown variable", []string{"BACKSTOP_REDIS_URL=x"}, "outcomes", 2, "BACKSTOP_REDIS__URL"},
		{"a file that is not there", refusing, "file none.csv", 2, "none.csv"},
		{"a file without a header", refusing, "file empty.csv", 2, "the file is empty"},
		{"a folder", refusing, "directory .", 2, "folder"},
		{"an unknown format of files", refusing, "file --format xls leads.csv", 2, "csv or jsonl"},
		{"a bad --map", refusing, "file --map email leads.csv", 2, "FIELD=HEADER"},
		{"an unknown flag", refusing, "outcomes --fast", 2, "--fast"},
		{"an unknown format", refusing, "outcomes --format xls", 2, "csv, jsonl or table"},
		{"an unknown status", refusing, "replay --status done", 2, "done"},
		{"a time that is none", refusing, "replay --since yesterday", 2, "--since"},
		{"a rate that is none", refusing, "replay --rate -1", 2, "--rate"},
		{"an address that is none", refusing, "forget nobody", 2, "email address"},
		{"no argument", refusing, "trace", 2, "arg"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, kv := range tt.env {
				name, value, _ := strings.Cut(kv, "=")
				t.Setenv(name, value)
			}
			write(t, "leads.csv", twoLeads)
			write(t, "people.csv", "email,name\nann@one.example,Ann Lee\n")
			write(t, "empty.csv", "")
			got := run(t, "", strings.Fields(tt.args)...)
			if got.code != tt.code {
				t.Errorf("exit %d, want %d: %s", got.code, tt.code, got.stderr)
			}
			text := got.stderr
			if tt.code == 0 {
				text = got.stdout
			} else if strings.Count(text, "\n") != 1 {
				t.Errorf("not one line: %s", text)
			}
			if !strings.Contains(text, tt.says) {
				t.Errorf("it does not say %q: %s", tt.says, text)
			}
			if strings.Contains(got.stderr, "hunter2") {
				t.Errorf("a password is shown: %s", got.stderr)
			}
		})
	}
}
