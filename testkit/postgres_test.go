package testkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestPostgresGivesEachCallADatabaseOfItsOwn(t *testing.T) {
	ctx := t.Context()
	first, second := Postgres(t), Postgres(t)
	if first == second {
		t.Fatal("both calls gave the same database")
	}
	for _, url := range []string{first, second} {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		// It would fail in the second if that were the first.
		if _, err := conn.Exec(ctx, "CREATE TABLE marks (n int)"); err != nil {
			t.Error(err)
		}
		var addr string
		if err := conn.QueryRow(ctx, "SELECT host(inet_server_addr())").Scan(&addr); err != nil || addr != "127.0.0.1" {
			t.Errorf("the server listens on %q (%v), want loopback only", addr, err)
		}
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

func TestAMissingPostgresSaysWhatToInstall(t *testing.T) {
	_, err := postgresBinaries("", filepath.Join(t.TempDir(), "*", "bin"))
	if err == nil || !strings.Contains(err.Error(), "apt-get install postgresql") {
		t.Fatalf("got %v, want what to install", err)
	}
}

func TestTheNewestInstalledPostgresIsTaken(t *testing.T) {
	root := t.TempDir()
	for _, version := range []string{"9", "16", "15"} {
		bin := filepath.Join(root, version, "bin")
		if err := os.MkdirAll(bin, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"initdb", "postgres"} {
			if err := os.WriteFile(filepath.Join(bin, name), nil, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	for path, want := range map[string]string{"": "16", filepath.Join(root, "15", "bin"): "15"} {
		got, err := postgresBinaries(path, filepath.Join(root, "*", "bin"))
		if err != nil || got != filepath.Join(root, want, "bin") {
			t.Errorf("with PATH %q: got %s, %v, want version %s", path, got, err, want)
		}
	}
}
