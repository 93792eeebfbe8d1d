package testkit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres returns the URL of a new, empty database on a real PostgreSQL server,
// which the first call of a test binary starts and [Main] stops. It fails the
// test when PostgreSQL is not installed; it never skips.
//
// The server trusts every password. It syncs to disk as in production; with
// BACKSTOP_TEST_FSYNC=off in the environment it does not, which is faster on
// slow disks.
func Postgres(tb testing.TB) string {
	tb.Helper()
	server, err := startedPostgres()
	if err != nil {
		tb.Fatalf("start PostgreSQL: %v", err)
	}
	url, err := server.create(tb.Context())
	if err != nil {
		tb.Fatalf("create a database: %v", err)
	}
	return url
}

// startedPostgres starts the binary's one server at its first call.
var startedPostgres = sync.OnceValues(startPostgres)

const (
	postgresStart = 60 * time.Second // for initdb and for the server, each
	postgresUser  = "postgres"
)

type postgresServer struct {
	dir   string // everything of the server is in it
	addr  string
	child *child

	mu        sync.Mutex
	databases int
}

func startPostgres() (s *postgresServer, err error) {
	bin, err := postgresBinaries(os.Getenv("PATH"), debianPostgres)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "backstop-pg-")
	if err != nil {
		return nil, err
	}
	atExit(func() { os.RemoveAll(dir) }) // what is left in the temp folder is not worth a failure
	if err := giveToPostgres(dir); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), postgresStart)
	defer cancel()
	s = &postgresServer{dir: dir}
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", s.data(), "-U", postgresUser,
		"-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.Dir = dir
	initdb.SysProcAttr = asPostgres()
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	// Another process can take the free port before the server does.
	for range 3 {
		if err = s.run(bin); err == nil {
			atExit(s.stop)
			return s, nil
		}
	}
	return nil, err
}

func (s *postgresServer) data() string { return filepath.Join(s.dir, "data") }

// debianPostgres is where Debian and Ubuntu put the server, outside of PATH.
const debianPostgres = "/usr/lib/postgresql/*/bin"

// postgresBinaries finds the folder of initdb and postgres: one in path, which is
// as $PATH, else that of the newest version that the pattern installed matches.
func postgresBinaries(path, installed string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		initdb, err := filepath.EvalSymlinks(filepath.Join(dir, "initdb"))
		if err != nil {
			continue // it is not here
		}
		bin := filepath.Dir(initdb)
		if _, err := os.Stat(filepath.Join(bin, "postgres")); err == nil {
			return bin, nil
		}
	}
	found, err := filepath.Glob(filepath.Join(installed, "initdb"))
	if err != nil {
		return "", err
	}
	newest, best := "", -1
	for _, initdb := range found {
		bin := filepath.Dir(initdb)
		if v, err := strconv.Atoi(filepath.Base(filepath.Dir(bin))); err == nil && v > best {
			newest, best = bin, v
		}
	}
	if newest == "" {
		return "", errors.New("initdb is neither in PATH nor in " + installed + ": install PostgreSQL (on Debian and Ubuntu: apt-get install postgresql)")
	}
	return newest, nil
}

// run starts the server on a free port and waits until it answers.
func (s *postgresServer) run(bin string) (err error) {
	if s.addr, err = freeAddr(); err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close() // the server has its own handle
	fsync := "on"
	if os.Getenv("BACKSTOP_TEST_FSYNC") == "off" {
		fsync = "off"
	}
	cmd := exec.Command(filepath.Join(bin, "postgres"), "-D", s.data(), "-p", port,
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="+s.dir,
		"-c", "max_connections=200", "-c", "fsync="+fsync)
	cmd.Dir, cmd.SysProcAttr = s.dir, asPostgres()
	cmd.Stdout, cmd.Stderr = log, log
	if s.child, err = startChild(cmd); err != nil {
		return err
	}
	if err := s.ready(); err != nil {
		s.stop()
		text, readErr := os.ReadFile(log.Name())
		return errors.Join(err, readErr, errors.New(string(text)))
	}
	return nil
}

// ready polls the server until it takes a connection.
func (s *postgresServer) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), postgresStart)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.url(postgresUser))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-tick.C:
		case <-s.child.done:
			return errors.New("the server ended at once")
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w", err)
		}
	}
}

// stop shuts the server down at once: nobody needs its data any more. SIGQUIT
// makes it end its own processes too.
func (s *postgresServer) stop() {
	if err := s.child.signal(syscall.SIGQUIT); err != nil {
		fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
		return
	}
	<-s.child.done
}

func (s *postgresServer) url(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(postgresUser, "trusted"),
		Host: s.addr, Path: database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// create makes a database and returns its URL.
func (s *postgresServer) create(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, err := pgx.Connect(ctx, s.url(postgresUser))
	if err != nil {
		return "", err
	}
	s.databases++
	name := fmt.Sprintf("test_%d", s.databases)
	_, err = conn.Exec(ctx, "CREATE DATABASE "+name)
	if closeErr := conn.Close(ctx); err == nil {
		err = closeErr
	}
	return s.url(name), err
}
