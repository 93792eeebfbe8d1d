package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestAPostgresServerComesBackWithWhatWasCommitted(t *testing.T) {
	p := PostgresServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	query := func(sql string) (n int) {
		t.Helper()
		conn, err := pgx.Connect(ctx, p.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		if err := conn.QueryRow(ctx, sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	conn, err := pgx.Connect(ctx, p.URL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "CREATE TABLE marks (n int); INSERT INTO marks VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	for _, end := range []struct {
		name string
		do   func()
	}{
		{"a shutdown", func() { p.Shutdown(); p.Start() }},
		{"a kill", func() { p.Kill(); p.Start() }},
		{"the kill of a backend", p.KillBackend},
	} {
		end.do()
		if n := query("SELECT count(*) FROM marks"); n != 1 {
			t.Errorf("after %s there are %d rows", end.name, n)
		}
		if err := conn.Ping(ctx); err == nil {
			t.Errorf("a connection outlived %s", end.name)
		}
		_ = conn.Close(ctx) // its other end is gone
		if conn, err = pgx.Connect(ctx, p.URL()); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(ctx); err != nil {
		t.Error(err)
	}
}
