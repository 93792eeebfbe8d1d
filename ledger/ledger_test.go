package ledger_test

import (
	"path/filepath"
	"testing"

	"backstop/ledger"
	"backstop/ledger/ledgertest"
	"backstop/testkit"
)

func TestMain(m *testing.M) {
	if runAsChild() {
		return
	}
	testkit.Main(m)
}

// databases are the ways to make a URL of an empty database.
var databases = map[string]func(t testing.TB) string{
	"SQLite":     func(t testing.TB) string { return "sqlite://" + filepath.Join(t.TempDir(), "new", "ledger.db") },
	"PostgreSQL": testkit.Postgres,
}

// open opens a ledger and closes it when the test ends.
func open(t testing.TB, url string, o ledger.Options) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestLedger(t *testing.T) {
	for name, newURL := range databases {
		t.Run(name, func(t *testing.T) {
			ledgertest.Run(t, func(t *testing.T, o ledger.Options) *ledger.Ledger { return open(t, newURL(t), o) }, ledger.AllText, ledger.Change)
		})
	}
}
