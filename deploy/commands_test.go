package deploy

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"backstop/testkit"
)

const soon = 30 * time.Second

// An invocation is one of our commands as the files call it.
type invocation struct {
	where string
	words []string // the command, its subcommands, flags and arguments
}

// invocations finds every call of our commands: what services run, how their
// health is checked, and what the comments tell the reader to type.
func invocations(t *testing.T) []invocation {
	t.Helper()
	var found []invocation
	for name, service := range readCompose(t).Services {
		if service.Build != "" {
			found = append(found, invocation{name, append([]string{"worker"}, service.Command...)})
		}
		if check := service.Healthcheck.Test; len(check) > 1 && filepath.Base(check[1]) == "worker" {
			found = append(found, invocation{name + "'s health check", append([]string{"worker"}, check[2:]...)})
		}
	}
	typed := regexp.MustCompile(`(?m)^#.*--entrypoint (\w+) worker ([^<>\n]*)`)
	for _, match := range typed.FindAllStringSubmatch(readFile(t, "docker-compose.yml"), -1) {
		found = append(found, invocation{"a comment", append(match[1:2:2], strings.Fields(match[2])...)})
	}
	if len(found) < 5 {
		t.Fatalf("only %d calls of our commands found: %v", len(found), found)
	}
	return found
}

func TestEveryCommandAndFlagExists(t *testing.T) {
	t.Parallel()
	for _, call := range invocations(t) {
		t.Run(call.where+" "+strings.Join(call.words, " "), func(t *testing.T) {
			t.Parallel()
			help := testkit.Start(t, testkit.Command{
				Package: "backstop/cmd/" + call.words[0],
				Args:    []string{call.words[1], "--help"},
			})
			if status := help.Wait(soon); status != 0 {
				t.Fatalf("--help exits with %d", status)
			}
			// A command that does not exist is answered with the help of the one above.
			usage := regexp.MustCompile(`(?m)^ +` + call.words[0] + ` ` + regexp.QuoteMeta(call.words[1]) + `\b`)
			if !usage.MatchString(help.Stdout()) {
				t.Errorf("there is no such command; its help is:\n%s", help.Stdout())
			}
			for _, word := range call.words[2:] {
				flag, _, _ := strings.Cut(word, "=")
				if !strings.HasPrefix(flag, "--") {
					continue
				}
				if !regexp.MustCompile(flag + `\b`).MatchString(help.Stdout()) {
					t.Errorf("there is no flag %s; the help is:\n%s", flag, help.Stdout())
				}
			}
		})
	}
}

// environment returns the worker's variables, with those that are passed on from
// the shell set as the comment for the sandbox says.
func environment(t *testing.T) []string {
	t.Helper()
	exported := make(map[string]string)
	for _, line := range regexp.MustCompile(`(?m)^# +export (.*)$`).FindAllStringSubmatch(readFile(t, "docker-compose.yml"), -1) {
		for _, assignment := range strings.Fields(line[1]) {
			name, value, _ := strings.Cut(assignment, "=")
			exported[name] = value
		}
	}
	var env []string
	for name, value := range readCompose(t).Services["worker"].Environment {
		if value == nil {
			typed, ok := exported[name]
			if !ok {
				t.Errorf("%s is passed on, and no comment says what to set it to", name)
			}
			value = &typed
			delete(exported, name)
		}
		env = append(env, name+"="+*value)
	}
	for name := range exported {
		t.Errorf("a comment says to set %s, which is not passed on", name)
	}
	return env
}

func TestTheWorkerAcceptsItsEnvironment(t *testing.T) {
	t.Parallel()
	env := environment(t)
	check := testkit.Start(t, testkit.Command{
		Package: "backstop/cmd/worker", Args: []string{"config", "check", "--json"}, Env: env,
	})
	if status := check.Wait(soon); status != 0 {
		t.Fatalf("config check exits with %d: %s", status, check.Stderr())
	}
	var effective map[string]any
	if err := json.Unmarshal([]byte(check.Stdout()), &effective); err != nil {
		t.Fatalf("config check --json: %v", err)
	}
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		key, ours := strings.CutPrefix(name, "BACKSTOP_")
		if !ours || name == "BACKSTOP_LEDGER__URL" { // its password is hidden
			continue
		}
		if got := lookup(effective, strings.Split(strings.ToLower(key), "__")); got != value {
			t.Errorf("%s=%s has the effect %v", name, value, got)
		}
	}
	if strings.Contains(check.Stdout(), ":backstop@") {
		t.Error("config check shows the ledger's password")
	}
}

// Without this the test above could not fail.
func TestTheWorkerRefusesAVariableThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	check := testkit.Start(t, testkit.Command{
		Package: "backstop/cmd/worker", Args: []string{"config", "check", "--json"},
		Env: append(environment(t), "BACKSTOP_WORKER__NO_SUCH_KEY=1"),
	})
	if status := check.Wait(soon); status != 2 {
		t.Errorf("config check exits with %d, want 2: %s", status, check.Stderr())
	}
}

// lookup follows keys into nested objects.
func lookup(object any, keys []string) any {
	for _, key := range keys {
		inner, ok := object.(map[string]any)
		if !ok {
			return nil
		}
		object = inner[key]
	}
	return object
}

// asynqmon's flags are read from the source of the module that we embed.
func TestAsynqmonHasItsFlags(t *testing.T) {
	t.Parallel()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", "github.com/hibiken/asynqmon").Output()
	if err != nil {
		t.Fatal(err)
	}
	path, version, _ := strings.Cut(strings.TrimSpace(string(dir)), " ")
	asynqmon := readCompose(t).Services["asynqmon"]
	if want := "hibiken/asynqmon:" + strings.TrimPrefix(version, "v"); asynqmon.Image != want {
		t.Errorf("the image is %s, want %s: the version that the worker embeds", asynqmon.Image, want)
	}
	source, err := os.ReadFile(filepath.Join(path, "cmd", "asynqmon", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	flags := make(map[string]bool)
	for _, match := range regexp.MustCompile(`flags\.\w+Var\(&[\w.]+, "([\w-]+)"`).FindAllSubmatch(source, -1) {
		flags["--"+string(match[1])] = true
	}
	for _, word := range asynqmon.Command {
		if flag, _, _ := strings.Cut(word, "="); !flags[flag] {
			t.Errorf("asynqmon has no flag %s, only %v", flag, slices.Sorted(maps.Keys(flags)))
		}
	}
}
