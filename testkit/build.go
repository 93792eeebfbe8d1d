package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// builds remembers what was built by this test binary.
var builds struct {
	sync.Mutex
	dir   string
	built map[string]func() (string, error)
}

// Build compiles a command of this module, such as "backstop/cmd/worker", and
// returns the path of the program. Each command is built once for each test
// binary, with the race detector if the tests have it. It may be called from any
// goroutine of a test.
func Build(tb testing.TB, pkg string) string {
	tb.Helper()
	dir, err := buildDir()
	if err != nil {
		tb.Fatal(err)
	}
	builds.Lock()
	build, ok := builds.built[pkg]
	if !ok {
		build = sync.OnceValues(func() (string, error) { return goBuild(pkg, dir) })
		builds.built[pkg] = build
	}
	builds.Unlock()

	program, err := build()
	if err != nil {
		tb.Fatal(err)
	}
	return program
}

// buildDir makes the folder for the programs, which goes with the test binary.
func buildDir() (string, error) {
	builds.Lock()
	defer builds.Unlock()
	if builds.dir != "" {
		return builds.dir, nil
	}
	dir, err := os.MkdirTemp("", "backstop-bin-")
	if err != nil {
		return "", fmt.Errorf("make a folder for programs: %w", err)
	}
	atExit(func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintf(os.Stderr, "testkit: remove built programs: %v\n", err)
		}
	})
	builds.dir, builds.built = dir, make(map[string]func() (string, error))
	return dir, nil
}

// goBuild runs the go command in the test's folder, which is inside the module.
func goBuild(pkg, dir string) (string, error) {
	program := filepath.Join(dir, path.Base(pkg))
	// No version stamp: it needs a git that trusts the folder's owner, and tests
	// gain nothing by it.
	args := []string{"build", "-buildvcs=false", "-o", program}
	if raceDetector {
		args = append(args, "-race")
	}
	said, err := exec.Command("go", append(args, pkg)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, said)
	}
	return program, dependOn(pkg)
}

// dependOn makes the result of the test depend on the sources of a program that was
// built out of its process: the go command caches a passed test until a file changes
// that the test has looked at.
func dependOn(pkg string) error {
	const files = `{{if not .Standard}}{{$d := .Dir}}{{$d}}{{"\n"}}{{with .Module}}{{.GoMod}}{{"\n"}}{{end}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}`
	list, err := exec.Command("go", "list", "-deps", "-f", files, pkg).Output()
	if err != nil {
		return fmt.Errorf("list the sources of %s: %w", pkg, err)
	}
	for file := range strings.FieldsFuncSeq(string(list), func(r rune) bool { return r == '\n' }) {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("look at the sources of %s: %w", pkg, err)
		}
	}
	return nil
}
