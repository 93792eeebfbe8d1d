package deploy

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An instruction is one of the Dockerfile's, such as COPY, and what follows it.
type instruction struct{ name, rest string }

func readDockerfile(t *testing.T) []instruction {
	t.Helper()
	var all []instruction
	text := strings.ReplaceAll(readFile(t, "Dockerfile"), "\\\n", " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		all = append(all, instruction{name, strings.TrimSpace(rest)})
	}
	return all
}

// last returns what the last instruction of that name says: the one that counts
// for the image.
func last(t *testing.T, all []instruction, name string) string {
	t.Helper()
	for _, i := range slices.Backward(all) {
		if i.name == name {
			return i.rest
		}
	}
	t.Fatalf("the Dockerfile has no %s", name)
	return ""
}

func TestTheImageIsBuiltWithTheModulesGo(t *testing.T) {
	t.Parallel()
	module := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(readFile(t, "go.mod"))
	image := regexp.MustCompile(`(?m)^FROM .*golang:(\d+\.\d+)`).FindStringSubmatch(readFile(t, "Dockerfile"))
	if module == nil || image == nil || module[1] != image[1] {
		t.Errorf("go.mod says %v, the Dockerfile %v", module, image)
	}
}

func TestTheImageRunsWithoutRights(t *testing.T) {
	t.Parallel()
	if user := last(t, readDockerfile(t), "USER"); !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(user) {
		t.Errorf("it runs as %s", user)
	}
}

// The last stage has no C library to link with.
func TestTheProgramsAreStatic(t *testing.T) {
	t.Parallel()
	if env := last(t, readDockerfile(t), "ENV"); env != "CGO_ENABLED=0" {
		t.Errorf("the build's environment is %s, want CGO_ENABLED=0", env)
	}
}

func TestTheEntrypointIsInTheImage(t *testing.T) {
	t.Parallel()
	all := readDockerfile(t)
	var entrypoint []string
	if err := json.Unmarshal([]byte(last(t, all, "ENTRYPOINT")), &entrypoint); err != nil {
		t.Fatalf("ENTRYPOINT: %v", err)
	}
	var programs []string
	for _, i := range all {
		if words := strings.Fields(i.rest); i.name == "COPY" && words[0] == "--from=build" {
			folder := words[len(words)-1]
			for _, source := range words[1 : len(words)-1] {
				programs = append(programs, folder+filepath.Base(source))
			}
		}
	}
	for _, program := range append(entrypoint[:1:1], "/usr/local/bin/enqueue") {
		if !slices.Contains(programs, program) {
			t.Errorf("%s is not in the image, only %v", program, programs)
		}
	}
	check := readCompose(t).Services["worker"].Healthcheck.Test
	if check[1] != entrypoint[0] {
		t.Errorf("the health check runs %s, the image has %s", check[1], entrypoint[0])
	}
}

func TestTheExposedPortIsTheWorkers(t *testing.T) {
	t.Parallel()
	admin := adminPort(t, readCompose(t))
	if exposed := last(t, readDockerfile(t), "EXPOSE"); exposed != admin {
		t.Errorf("the image exposes port %s, the worker listens on %s", exposed, admin)
	}
}

// The go command is shown what .dockerignore lets into the build, and asked
// whether both programs can be built of it, embedded files included.
func TestTheBuildHasAllThatItNeeds(t *testing.T) {
	t.Parallel()
	var packages []string
	for _, i := range readDockerfile(t) {
		if _, build, ok := strings.Cut(i.rest, "go build "); ok {
			for _, word := range strings.Fields(build) {
				if strings.HasPrefix(word, "./") {
					packages = append(packages, word)
				}
			}
		}
	}
	if want := []string{"./cmd/worker", "./cmd/enqueue"}; !slices.Equal(packages, want) {
		t.Fatalf("the Dockerfile builds %v, want %v", packages, want)
	}

	list := exec.Command("go", append([]string{"list", "-deps", "-f", "{{.ImportPath}}"}, packages...)...)
	list.Dir = buildContext(t)
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := list.CombinedOutput(); err != nil {
		t.Errorf("go list in the build's context: %v\n%s", err, said)
	}
}

// buildContext copies the repository without what .dockerignore names. It knows
// the two kinds of patterns that are used there: a name or glob at the top, and
// **/ before a name or glob at any depth.
func buildContext(t *testing.T) string {
	t.Helper()
	var top, any []string
	for line := range strings.Lines(readFile(t, ".dockerignore")) {
		switch pattern := strings.TrimSpace(line); {
		case pattern == "" || strings.HasPrefix(pattern, "#"):
		case strings.HasPrefix(pattern, "**/"):
			any = append(any, strings.TrimPrefix(pattern, "**/"))
		case strings.ContainsAny(pattern, "/!"):
			t.Fatalf(".dockerignore: this test does not know how to read %q", pattern)
		default:
			top = append(top, pattern)
		}
	}
	matches := func(patterns []string, name string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			match, err := filepath.Match(pattern, name)
			return err == nil && match
		})
	}

	to, root := t.TempDir(), os.DirFS("..")
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path != "." && (matches(any, entry.Name()) || !strings.Contains(path, "/") && matches(top, path)) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, path), 0o755)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, path), text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}
