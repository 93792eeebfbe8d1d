package testkit

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A PostgresProcess is a PostgreSQL server that belongs to one test, to be
// interfered with. For a mere database use [Postgres], which shares a server.
type PostgresProcess struct {
	tb     testing.TB
	bin    string
	server *postgresServer
	url    string
}

// PostgresServer starts a server with one empty database. It ends with the test.
func PostgresServer(tb testing.TB) *PostgresProcess {
	tb.Helper()
	bin, err := postgresBinaries(os.Getenv("PATH"), debianPostgres)
	if err != nil {
		tb.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "backstop-pg-") // not the test's folder, which its owner alone may enter
	if err != nil {
		tb.Fatal(err)
	}
	p := &PostgresProcess{tb: tb, bin: bin, server: &postgresServer{dir: dir}}
	tb.Cleanup(p.end)
	if err := p.init(); err != nil {
		tb.Fatal(err)
	}
	if err := p.server.run(bin); err != nil {
		tb.Fatal(err)
	}
	if p.url, err = p.server.create(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return p
}

func (p *PostgresProcess) init() error {
	if err := giveToPostgres(p.server.dir); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(p.tb.Context(), postgresStart)
	defer cancel()
	initdb := exec.CommandContext(ctx, filepath.Join(p.bin, "initdb"), "-D", p.server.data(), "-U", postgresUser,
		"-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = p.server.dir, asPostgres()
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// URL returns the URL of the server's database. It stays the same over a Restart.
func (p *PostgresProcess) URL() string { return p.url }

// Shutdown ends the server as an operator's restart does ("fast": transactions are
// rolled back, clients disconnected) and returns when it is gone.
func (p *PostgresProcess) Shutdown() {
	p.tb.Helper()
	if err := p.server.child.signal(syscall.SIGINT); err != nil {
		p.tb.Fatal(err)
	}
	<-p.server.child.done
}

// Kill ends the server's first process as kill -9 does. The processes that serve
// its connections see that and end soon after.
func (p *PostgresProcess) Kill() {
	p.tb.Helper()
	if err := p.server.child.kill(); err != nil {
		p.tb.Fatal(err)
	}
}

// KillBackend kills one of the processes that serve connections. The server then
// ends all others and recovers from its log; this returns when it has.
func (p *PostgresProcess) KillBackend() {
	p.tb.Helper()
	ctx, cancel := context.WithTimeout(p.tb.Context(), postgresStart)
	defer cancel()
	connect := func() *pgx.Conn {
		p.tb.Helper()
		conn, err := pgx.Connect(ctx, p.url)
		if err != nil {
			p.tb.Fatal(err)
		}
		return conn
	}
	victim, witness := connect(), connect()
	var pid int
	if err := victim.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		p.tb.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		p.tb.Fatal(err)
	}
	_ = victim.Close(ctx) // its other end was killed
	Eventually(p.tb, postgresStart, "the server has noticed", func() bool { return witness.Ping(ctx) != nil })
	_ = witness.Close(ctx) // the same
	if err := p.server.ready(); err != nil {
		p.tb.Fatal(err)
	}
}

// Start starts the server again after Shutdown or Kill, at the same address, and
// returns when it takes connections.
func (p *PostgresProcess) Start() {
	p.tb.Helper()
	var err error
	// A killed server's last processes hold its shared memory for a moment.
	for deadline := time.Now().Add(postgresStart); time.Now().Before(deadline); {
		if err = p.server.runAgain(p.bin); err == nil {
			return
		}
	}
	p.tb.Fatal(err)
}

// runAgain starts the server at the address that it had.
func (s *postgresServer) runAgain(bin string) (err error) {
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer log.Close() // the server has its own handle
	cmd := exec.Command(filepath.Join(bin, "postgres"), "-D", s.data(), "-p", port,
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="+s.dir, "-c", "max_connections=200")
	cmd.Dir, cmd.SysProcAttr = s.dir, asPostgres()
	cmd.Stdout, cmd.Stderr = log, log
	if s.child, err = startChild(cmd); err != nil {
		return err
	}
	return s.ready()
}

func (p *PostgresProcess) end() {
	if p.server.child != nil {
		p.server.stop()
	}
	os.RemoveAll(p.server.dir) // what is left in the temp folder is not worth a failure
}
