package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynqmon"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
)

// A Check reports whether something that the worker needs is there.
type Check struct {
	Name string // "redis", "ledger"
	Do   func(context.Context) error
}

// AdminConfig is what an admin server shows.
type AdminConfig struct {
	Addr    string // host:port; port 0 takes a free one
	Metrics *Metrics
	Checks  []Check
	Redis   redis.UniversalClient // for asynqmon
	Log     zerolog.Logger
}

// checkTimeout bounds one readiness check, so that a probe gets its answer even
// when a dependency hangs.
const checkTimeout = time.Second

// asynqmonPath is where asynqmon is served, read-only.
const asynqmonPath = "/asynqmon"

// An Admin is the server for operators: /livez, /readyz, /metrics and /asynqmon/.
// It has no authentication and shows what is on the queues, so that it belongs on
// a loopback or private address.
type Admin struct {
	server   *http.Server
	listener net.Listener
	done     chan struct{}
}

// StartAdmin listens at once; an address that cannot be had is an error.
func StartAdmin(c AdminConfig) (*Admin, error) {
	l, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for the admin server: %w", err)
	}
	mon := asynqmon.New(asynqmon.Options{RootPath: asynqmonPath, RedisConnOpt: sharedRedis{c.Redis}, ReadOnly: true})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]string{"status": "live"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { ready(w, r, c.Checks) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(c.Metrics.Registry, promhttp.HandlerOpts{}))
	mux.Handle(asynqmonPath+"/", mon)
	mux.Handle("GET /{$}", http.RedirectHandler(asynqmonPath+"/", http.StatusFound))
	a := &Admin{
		server:   &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second},
		listener: l,
		done:     make(chan struct{}),
	}
	go func() {
		defer close(a.done)
		if err := a.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			c.Log.Error().Err(err).Str("event", "admin").Msg("the admin server ended")
		}
	}()
	return a, nil
}

// URL is the server's address, with the port that it got.
func (a *Admin) URL() string { return "http://" + a.listener.Addr().String() }

// AsynqmonURL is where asynqmon is served.
func (a *Admin) AsynqmonURL() string { return a.URL() + asynqmonPath + "/" }

// Close stops the server and waits for it.
func (a *Admin) Close(ctx context.Context) error {
	err := a.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, a.server.Close())
	}
	<-a.done
	if err != nil {
		return fmt.Errorf("stop the admin server: %w", err)
	}
	return nil
}

// ready runs all checks at once and names those that fail.
func ready(w http.ResponseWriter, r *http.Request, checks []Check) {
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	results := make([]string, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() {
			results[i] = "ok"
			if err := c.Do(ctx); err != nil {
				results[i] = err.Error()
			}
		})
	}
	wg.Wait()
	status, body := http.StatusOK, map[string]string{"status": "ready"}
	for i, c := range checks {
		body[c.Name] = results[i]
		if results[i] != "ok" {
			status, body["status"] = http.StatusServiceUnavailable, "not ready"
		}
	}
	reply(w, status, body)
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client has gone; there is nobody to tell
}

// sharedRedis gives asynqmon the process's client. Its handler is never closed,
// because that would close the client.
type sharedRedis struct{ rdb redis.UniversalClient }

func (s sharedRedis) MakeRedisClient() any { return s.rdb }

// Ready asks the admin server at addr whether its worker is ready. The error says
// why it is not.
func Ready(ctx context.Context, addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("admin address: %w", err)
	}
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, 3*checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return "", fmt.Errorf("ask the admin server: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("ask the admin server: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return "", fmt.Errorf("ask the admin server: %w", err)
	}
	answer := strings.TrimSpace(string(body))
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the worker is not ready: %s", answer)
	}
	return answer, nil
}
