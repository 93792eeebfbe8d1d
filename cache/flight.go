package cache

import (
	"sync"

	"backstop/chain"
)

// flights are the questions that are being asked in this process. They spare
// Redis the waiting of leads that are in the same process, and they hold without
// it.
type flights struct {
	mu  sync.Mutex
	all map[string]*flight // by the name of the answer
}

// A flight is a question that is being asked by one lease.
type flight struct {
	done  chan struct{}
	entry *chain.Entry // once done: the answer, nil if there is none to share
}

// join gives the flight of a name. first is true for whoever is to end it.
func (fs *flights) join(name string) (f *flight, first bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f, ok := fs.all[name]; ok {
		return f, false
	}
	if fs.all == nil {
		fs.all = map[string]*flight{}
	}
	f = &flight{done: make(chan struct{})}
	fs.all[name] = f
	return f, true
}

// end gives the answer, if there is one, to all who wait for it.
func (fs *flights) end(name string, f *flight, entry *chain.Entry) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	delete(fs.all, name)
	f.entry = entry
	close(f.done)
}
