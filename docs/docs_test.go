// Package docs holds the documentation against the code.
package docs

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Architecture.md names a function as `dir/file.go` `Function` or `Type.Method`.
var named = regexp.MustCompile("`([a-z/_]+\\.go)`\\s+`([A-Za-z]+(?:\\.[A-Za-z]+)?)`")

func TestEachFunctionThatTheArchitectureNamesExists(t *testing.T) {
	found := named.FindAllStringSubmatch(read(t, "architecture.md"), -1)
	if len(found) < 20 {
		t.Fatalf("only %d functions are named: is the form still `file.go` `Function`?", len(found))
	}
	for _, m := range found {
		if functions := functionsOf(t, m[1]); !slices.Contains(functions, m[2]) {
			t.Errorf("%s has no %s; it has %s", m[1], m[2], strings.Join(functions, ", "))
		}
	}
}

// functionsOf lists a file's functions and methods.
func functionsOf(t *testing.T, file string) (names []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := fn.Name.Name
		if fn.Recv != nil {
			receiver := fn.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			if id, ok := receiver.(*ast.Ident); ok {
				name = id.Name + "." + name
			}
		}
		names = append(names, name)
	}
	return names
}

// A room is a row of the table in architecture.md.
var room = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| [^|]* \\| ?([^|]*?) ?\\|$")

func TestEachPackageImportsOnlyWhatItsRoomMay(t *testing.T) {
	may := map[string][]string{}
	var above []string // the rooms so far, which "all of the above" means
	for _, row := range room.FindAllStringSubmatch(read(t, "architecture.md"), -1) {
		allowed := strings.Split(row[2], ", ")
		if row[2] == "all of the above" {
			allowed = slices.Clone(above)
		}
		for _, folder := range strings.Split(row[1], ", ") {
			folder = strings.Trim(folder, "`/")
			may[folder] = allowed
			above = append(above, folder)
		}
	}
	tests := []string{"bench/", "chaos", "deploy", "docs", "e2e", "ledger/ledgertest", "testkit"}
	for _, p := range packages(t) {
		folder := strings.TrimPrefix(p.ImportPath, "backstop/")
		if slices.ContainsFunc(tests, func(s string) bool { return strings.HasPrefix(folder, s) }) {
			continue
		}
		allowed, ok := may[folder]
		if !ok {
			t.Errorf("%s has no row in architecture.md", folder)
		}
		for _, path := range p.Imports {
			inner, ours := strings.CutPrefix(path, "backstop/")
			if ours && !slices.Contains(allowed, inner) {
				t.Errorf("%s imports %s, which its row does not allow", folder, inner)
			}
		}
		delete(may, folder)
	}
	for folder := range may {
		t.Errorf("architecture.md has a row for %s, which is no package", folder)
	}
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) (all []goPackage) {
	t.Helper()
	lookAtSources(t)
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// lookAtSources makes the result of a test depend on every source file: the go command
// caches a passed test until a file changes that the test has looked at.
func lookAtSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The chain knows providers by their contract alone: none of the packages of this module
// that it is made of uses HTTP or YAML.
func TestTheChainUsesNeitherHTTPNorYAML(t *testing.T) {
	imports := map[string][]string{}
	for _, p := range packages(t) {
		imports[p.ImportPath] = p.Imports
	}
	seen := map[string]bool{}
	var look func(pkg string)
	look = func(pkg string) {
		if seen[pkg] {
			return
		}
		seen[pkg] = true
		for _, path := range imports[pkg] {
			if path == "net/http" || strings.Contains(path, "yaml") {
				t.Errorf("chain depends on %s, which imports %s", pkg, path)
			}
			if strings.HasPrefix(path, "backstop/") {
				look(path)
			}
		}
	}
	look("backstop/chain")
	if len(seen) < 4 {
		t.Errorf("chain is said to depend on %v alone", seen)
	}
}
