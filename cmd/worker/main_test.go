package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"backstop/app"
	"backstop/lead"
	"backstop/ledger"
	"backstop/testkit"
)

func TestMain(m *testing.M) {
	logging.Disable() // as app.Main does
	testkit.Main(m)
}

const soon = 30 * time.Second

// longAgo is before the moment in which a lead may still be without a task.
var longAgo = time.Now().Add(-time.Hour)

// A result is what a command did.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the command in this process until it ends or ctx does, with what the test
// has set in the environment.
func run(ctx context.Context, args ...string) result {
	var out, errs bytes.Buffer
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&errs)
	code := app.Run(ctx, root)
	return result{code, out.String(), errs.String()}
}

// setUp gives the test a folder of its own with an empty ledger, and the variables.
func setUp(t *testing.T, environ ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, kv := range append([]string{"CLEARBIT_API_KEY=", "HUNTER_API_KEY="}, environ...) {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
}

// fill does something with the ledger of the test, whose clock shows now.
func fill(t *testing.T, now time.Time, do func(*ledger.Ledger)) {
	t.Helper()
	url := "sqlite://" + filepath.Join("backstop-data", "ledger.db")
	l, err := ledger.Open(t.Context(), url, ledger.Options{Now: func() time.Time { return now }})
	testkit.NoError(t, err)
	do(l)
	testkit.NoError(t, l.Close())
}

// accept accepts leads with these addresses.
func accept(t *testing.T, l *ledger.Ledger, emails ...string) []ledger.Accepted {
	t.Helper()
	var leads []lead.Lead
	for _, email := range emails {
		n, err := lead.Normalize(lead.Lead{Source: "crm", Email: email})
		testkit.NoError(t, err)
		leads = append(leads, n)
	}
	accepted, err := l.Accept(t.Context(), leads)
	testkit.NoError(t, err)
	return accepted
}

// settle gives a lead its outcome.
func settle(t *testing.T, l *ledger.Ledger, a ledger.Accepted, s ledger.Settlement) {
	t.Helper()
	s.LeadID, s.Generation = a.LeadID, a.Generation
	_, err := l.Settle(t.Context(), s)
	testkit.NoError(t, err)
}

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}
