package deploy

import (
	"bytes"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"backstop/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// A compose is docker-compose.yml, as far as it is used. A key that is not here
// fails the test: it is new and wants looking at, or it is misspelt.
type compose struct {
	Name     string
	Services map[string]service
	Volumes  map[string]any
}

type service struct {
	Image         string
	Build         string
	Command       []string
	ContainerName string `yaml:"container_name"`
	Ports         []string
	Profiles      []string
	Environment   map[string]*string // nil: passed on from the shell
	Volumes       []string
	Restart       string
	Deploy        struct{ Replicas int }
	Healthcheck   struct {
		Test              []string
		Interval, Timeout string
		StartPeriod       string `yaml:"start_period"`
		Retries           int
	}
	DependsOn map[string]struct{ Condition string } `yaml:"depends_on"`
	Grace     string                                `yaml:"stop_grace_period"`
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readCompose reads the file with the defaults of its ${VARIABLE:-default} filled in.
func readCompose(t *testing.T) compose {
	t.Helper()
	text := regexp.MustCompile(`\$\{\w+:-([^}]*)\}`).ReplaceAllString(readFile(t, "docker-compose.yml"), "$1")
	var c compose
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil {
		t.Fatalf("docker-compose.yml: %v", err)
	}
	if strings.Contains(text, "${") {
		t.Fatal("docker-compose.yml has a variable without a default")
	}
	return c
}

func TestTheWorkerCanBeScaled(t *testing.T) {
	t.Parallel()
	worker := readCompose(t).Services["worker"]
	if worker.ContainerName != "" || len(worker.Ports) > 0 {
		t.Errorf("a second replica cannot have the name %q and the ports %v too", worker.ContainerName, worker.Ports)
	}
	if worker.Deploy.Replicas != 3 {
		t.Errorf("%d replicas, want 3", worker.Deploy.Replicas)
	}
}

func TestTheWorkerIsGivenTimeToStop(t *testing.T) {
	t.Parallel()
	const needs = 30 * time.Second // in which the worker ends its calls on SIGTERM
	grace, err := time.ParseDuration(readCompose(t).Services["worker"].Grace)
	if err != nil {
		t.Fatal(err)
	}
	if grace <= needs {
		t.Errorf("it is killed after %v and may need %v", grace, needs)
	}
}

func TestOnlyLoopbackPortsAreOpened(t *testing.T) {
	t.Parallel()
	for name, service := range readCompose(t).Services {
		for _, port := range service.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s opens %s to the network", name, port)
			}
		}
	}
}

func TestServicesWaitForHealthyServices(t *testing.T) {
	t.Parallel()
	c := readCompose(t)
	for _, need := range []string{"redis", "postgres"} {
		if c.Services["worker"].DependsOn[need].Condition != "service_healthy" {
			t.Errorf("the worker does not wait for %s", need)
		}
	}
	for name, service := range c.Services {
		for need := range service.DependsOn {
			if len(c.Services[need].Healthcheck.Test) == 0 {
				t.Errorf("%s waits for %s, which has no health check", name, need)
			}
		}
	}
}

func TestVolumesAreDeclared(t *testing.T) {
	t.Parallel()
	c := readCompose(t)
	for _, name := range []string{"redis", "postgres"} {
		if len(c.Services[name].Volumes) == 0 {
			t.Errorf("%s keeps its data in no volume", name)
		}
	}
	for name, service := range c.Services {
		for _, mount := range service.Volumes {
			volume, _, _ := strings.Cut(mount, ":")
			if _, ok := c.Volumes[volume]; !ok {
				t.Errorf("%s mounts %s, which is not declared", name, volume)
			}
		}
	}
}

func TestTheSandboxStartsOnlyWhenAskedFor(t *testing.T) {
	t.Parallel()
	for name, service := range readCompose(t).Services {
		var want []string
		if name == "sandbox" {
			want = []string{"sandbox"}
		}
		if !slices.Equal(service.Profiles, want) {
			t.Errorf("%s has the profiles %v, want %v", name, service.Profiles, want)
		}
	}
}

// The addresses that services use for one another have to be where those listen.
func TestServicesMeetAtTheirPorts(t *testing.T) {
	t.Parallel()
	c := readCompose(t)
	listens := map[string]string{
		"redis":    "6379", // the images' own defaults
		"postgres": "5432",
		"asynqmon": strings.TrimPrefix(c.Services["asynqmon"].Command[1], "--port="),
		"sandbox":  portOf(t, c.Services["sandbox"].Command[2]),
		"worker":   adminPort(t, c),
	}
	text := readFile(t, "docker-compose.yml")
	for name, port := range listens {
		for _, match := range regexp.MustCompile(`(?://|@)`+name+`:(\d+)\b`).FindAllStringSubmatch(text, -1) {
			if match[1] != port {
				t.Errorf("%s is addressed at port %s and listens on %s", name, match[1], port)
			}
		}
	}
	health := c.Services["worker"].Healthcheck.Test
	if got := portOf(t, health[len(health)-1]); got != listens["worker"] {
		t.Errorf("the health check asks port %s, the worker listens on %s", got, listens["worker"])
	}
	if want := "127.0.0.1:8080:" + listens["asynqmon"]; !slices.Equal(c.Services["asynqmon"].Ports, []string{want}) {
		t.Errorf("asynqmon's ports are %v, want %s", c.Services["asynqmon"].Ports, want)
	}
}

// adminPort is where the worker serves its metrics and health.
func adminPort(t *testing.T, c compose) string {
	t.Helper()
	addr := c.Services["worker"].Environment["BACKSTOP_WORKER__ADMIN"]
	if addr == nil {
		t.Fatal("the worker is not told where to listen")
	}
	return portOf(t, *addr)
}

func portOf(t *testing.T, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatalf("address %q: %v", addr, err)
	}
	return port
}

// A real server is given the same directives.
func TestRedisIsConfiguredNotToLoseTasks(t *testing.T) {
	t.Parallel()
	command := readCompose(t).Services["redis"].Command
	var options []testkit.RedisOption
	for i := 1; i+1 < len(command); i += 2 {
		options = append(options, testkit.WithDirective(strings.TrimPrefix(command[i], "--"), command[i+1]))
	}
	client := testkit.RedisServer(t, options...).Client()
	for directive, want := range map[string]string{
		"appendonly":       "yes",
		"appendfsync":      "everysec",
		"maxmemory-policy": "noeviction",
	} {
		got, err := client.ConfigGet(t.Context(), directive).Result()
		if err != nil {
			t.Fatal(err)
		}
		if got[directive] != want {
			t.Errorf("%s is %q, want %q", directive, got[directive], want)
		}
	}
}
