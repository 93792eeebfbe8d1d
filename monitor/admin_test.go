package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/rs/zerolog"

	"backstop/testkit"
)

// start serves an admin server on a Redis of its own, and returns it with Redis' client.
func start(t *testing.T, m *Metrics, checks ...Check) (*Admin, redis.UniversalClient) {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{
		Addr: miniredis.RunT(t).Addr(), MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	a, err := StartAdmin(AdminConfig{Addr: "127.0.0.1:0", Metrics: m, Checks: checks, Redis: rdb, Log: zerolog.Nop()})
	testkit.NoError(t, err)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		testkit.NoError(t, a.Close(context.WithoutCancel(t.Context())))
		testkit.NoError(t, rdb.Close())
	})
	return a, rdb
}

// ask makes a request and returns status and body.
func ask(t *testing.T, method, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	testkit.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	testkit.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	testkit.NoError(t, errors.Join(err, resp.Body.Close()))
	return resp.StatusCode, string(body)
}

func TestReadinessIsThatOfEveryCheck(t *testing.T) {
	fine := func(context.Context) error { return nil }
	away := func(context.Context) error { return errors.New("connection refused") }
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, tt := range map[string]struct {
		ledger, redis func(context.Context) error
		status        int
		body          map[string]string
	}{
		"all is there":   {fine, fine, 200, map[string]string{"status": "ready", "ledger": "ok", "redis": "ok"}},
		"Redis is away":  {fine, away, 503, map[string]string{"status": "not ready", "ledger": "ok", "redis": "connection refused"}},
		"all is away":    {away, away, 503, map[string]string{"status": "not ready", "ledger": "connection refused", "redis": "connection refused"}},
		"a ledger hangs": {hangs, fine, 503, map[string]string{"status": "not ready", "ledger": "context deadline exceeded", "redis": "ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := start(t, NewMetrics(), Check{"ledger", tt.ledger}, Check{"redis", tt.redis})
			began := time.Now()
			status, text := ask(t, http.MethodGet, a.URL()+"/readyz")
			var body map[string]string
			testkit.NoError(t, json.Unmarshal([]byte(text), &body))
			if diff := cmp.Diff(tt.body, body); status != tt.status || diff != "" {
				t.Errorf("status %d, body (-want +got)\n%s", status, diff)
			}
			if took := time.Since(began); took > 3*checkTimeout {
				t.Errorf("it took %s", took)
			}
			if status, text := ask(t, http.MethodGet, a.URL()+"/livez"); status != 200 || text != `{"status":"live"}`+"\n" {
				t.Errorf("alive all the same? status %d, %s", status, text)
			}

			said, err := Ready(t.Context(), strings.TrimPrefix(a.URL(), "http://"))
			if tt.status == 200 && (err != nil || said != strings.TrimSpace(text)) {
				t.Errorf("Ready: %q, %v", said, err)
			}
			if tt.status != 200 && (err == nil || !strings.Contains(err.Error(), `not ready: {"ledger":"`+tt.body["ledger"])) {
				t.Errorf("Ready: %q, %v", said, err)
			}
		})
	}
}

func TestReadinessFollowsTheCheck(t *testing.T) {
	var err error
	a, _ := start(t, NewMetrics(), Check{"redis", func(context.Context) error { return err }})
	for _, step := range []struct {
		err    error
		status int
	}{{nil, 200}, {errors.New("gone"), 503}, {nil, 200}} {
		err = step.err
		if status, body := ask(t, http.MethodGet, a.URL()+"/readyz"); status != step.status {
			t.Errorf("with %v: status %d, %s", step.err, status, body)
		}
	}
}

func TestReadySaysWhyItCannotTell(t *testing.T) {
	for addr, want := range map[string]string{
		"9090": "admin address", "127.0.0.1:1": "connection refused", ":1": "127.0.0.1:1", "0.0.0.0:1": "127.0.0.1:1", "[::]:1": "127.0.0.1:1",
	} {
		if said, err := Ready(t.Context(), addr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %q", addr, said, err, want)
		}
	}
}

func TestAsynqmonShowsTheQueuesAndChangesNothing(t *testing.T) {
	a, rdb := start(t, NewMetrics())
	client := asynq.NewClientFromRedisClient(rdb)
	_, err := client.Enqueue(asynq.NewTask("lead:enrich", []byte(`{}`), asynq.TaskID("one"), asynq.Queue("enrich")))
	testkit.NoError(t, err)
	inspector := asynq.NewInspectorFromRedisClient(rdb)

	if status, page := ask(t, http.MethodGet, a.AsynqmonURL()); status != 200 || !strings.Contains(page, "<html") {
		t.Errorf("the page: status %d", status)
	}
	if status, body := ask(t, http.MethodGet, a.AsynqmonURL()+"api/queues/enrich"); status != 200 || !strings.Contains(body, `"pending":1`) {
		t.Errorf("the queue: status %d, %s", status, body)
	}
	for _, path := range []string{"queues/enrich:pause", "queues/enrich/pending_tasks/one:archive", "queues/enrich/pending_tasks:delete_all"} {
		if status, _ := ask(t, http.MethodPost, a.AsynqmonURL()+"api/"+path); status/100 != 4 {
			t.Errorf("POST %s: status %d", path, status)
		}
	}
	if status, _ := ask(t, http.MethodDelete, a.AsynqmonURL()+"api/queues/enrich/pending_tasks/one"); status/100 != 4 {
		t.Errorf("DELETE of a task: status %d", status)
	}
	info, err := inspector.GetQueueInfo("enrich")
	testkit.NoError(t, err)
	if info.Paused || info.Pending != 1 {
		t.Errorf("afterwards the queue is %+v", info)
	}
	if status, page := ask(t, http.MethodGet, a.URL()+"/"); status != 200 || !strings.Contains(page, "<html") {
		t.Errorf("the root does not lead to asynqmon: status %d", status)
	}
}

func TestAnAddressThatIsTakenIsAnError(t *testing.T) {
	a, rdb := start(t, NewMetrics())
	_, err := StartAdmin(AdminConfig{Addr: strings.TrimPrefix(a.URL(), "http://"), Metrics: NewMetrics(), Redis: rdb})
	if err == nil || !strings.Contains(err.Error(), "listen for the admin server") {
		t.Errorf("got %v", err)
	}
}
