package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Options are how a sandbox is served.
type Options struct {
	Addr string // "": 127.0.0.1 and a free port
}

// A Server is a running sandbox.
type Server struct {
	url     string
	http    *http.Server
	gone    context.Context // done when the server is closing
	leave   context.CancelFunc
	stopped chan struct{} // closed when nothing of the server runs any more
	err     error         // why serving ended, if not by Close; set before stopped is closed

	mu      sync.Mutex
	script  Script
	epoch   time.Time
	since   time.Time
	ledgers map[string]*ledger
}

// Start serves the script until Close or until ctx is done.
func Start(ctx context.Context, script Script, o Options) (*Server, error) {
	if err := script.Validate(); err != nil {
		return nil, err
	}
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	s := &Server{url: "http://" + l.Addr().String(), stopped: make(chan struct{}), script: script}
	s.gone, s.leave = context.WithCancel(ctx)
	s.Reset()
	s.http = &http.Server{
		Handler:           s.routes(),
		BaseContext:       func(net.Listener) context.Context { return s.gone },
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(io.Discard, "", 0), // what it would say of aborted calls is in the books
	}
	go s.run(l)
	return s, nil
}

// run serves until the server is to go, and waits for every call to end.
func (s *Server) run(l net.Listener) {
	defer close(s.stopped)
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(l) }()
	select {
	case err := <-served:
		s.err = fmt.Errorf("serve sandbox: %w", err)
		s.leave()
	case <-s.gone.Done():
		defer func() { <-served }()
	}
	// Calls that hang end with gone; the others end by themselves in a moment.
	if err := s.http.Shutdown(context.WithoutCancel(s.gone)); err != nil {
		s.err = errors.Join(s.err, fmt.Errorf("stop sandbox: %w", err))
	}
}

// Close stops the server. It ends calls that hang, and waits for all to end.
func (s *Server) Close(ctx context.Context) error {
	s.leave()
	select {
	case <-s.stopped:
		return s.err
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("close sandbox: %w", ctx.Err()), s.http.Close())
	}
}

// URL is the provider's base_url; with "", the address of the listener itself.
func (s *Server) URL(provider string) string {
	if provider == "" {
		return s.url
	}
	return s.url + "/" + provider
}

// Reset empties the books and begins the time of the script now.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Now()
	s.epoch = s.since
	s.ledgers = map[string]*ledger{}
	for _, p := range Providers() {
		s.ledgers[p] = newLedger(s.script.Limits[p])
	}
}

// SetEpoch counts the times of the faults from t.
func (s *Server) SetEpoch(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch = t
}

// SetFaults replaces the faults, for calls that arrive from now on.
func (s *Server) SetFaults(faults ...Fault) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	script := s.script
	script.Faults = slices.Clone(faults)
	if err := script.Validate(); err != nil {
		return err
	}
	s.script = script
	return nil
}

// IsKnown reports whether the provider knows the person with the address, or what
// else a call can be about: see [Server.CallsFor].
func (s *Server) IsKnown(provider, subject string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.script.IsKnown(provider, subject)
}

// Books are what the sandbox saw since the start or the last Reset.
func (s *Server) Books() Books {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := Books{Since: s.since, Providers: map[string]Book{}}
	for name, l := range s.ledgers {
		b.Providers[name] = l.copy()
	}
	return b
}

// CallsFor is how many calls the provider got about the person with the address.
// Who was asked about without one is named as of [lead.NameKey]:
// "name:ann lee@acme.example". A company is "domain:acme.example".
func (s *Server) CallsFor(provider, subject string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.ledgers[provider]; l != nil {
		return l.callsFor(subject)
	}
	return 0
}

// current is what a call needs, read at once when it arrives.
func (s *Server) current(provider string) (Script, time.Duration, *ledger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.script, time.Since(s.epoch), s.ledgers[provider]
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, v := range vendors {
		mux.Handle("/"+v.name()+"/", s.serve(v))
	}
	mux.HandleFunc("GET /books", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(s.Books()); err != nil {
			panic(http.ErrAbortHandler) // the reader left
		}
	})
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, r *http.Request) {
		s.Reset()
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}
