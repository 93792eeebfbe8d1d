package breakerstore

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A line is where a replica's callers wait before they may reserve a slot. Few of
// them hold reserved slots at a time, so that the replicas share the slots evenly
// and a change of the rate soon reaches all. First come, first served.
type line struct {
	mu      sync.Mutex
	ahead   int             // callers that hold a reserved slot
	most    int             // so many may; the last to join knew best
	waiting []chan struct{} // each closed when its turn has come
}

// join waits for the caller's turn until the deadline. ok is false when it cannot
// come in time; k is then how many were in front. Callers that were let in must
// leave.
//
// A slot comes every so often at best, which tells in advance that some waits
// are in vain.
func (l *line) join(ctx context.Context, most int, now, deadline time.Time, every time.Duration) (k int, ok bool, err error) {
	l.mu.Lock()
	l.most = most
	if l.ahead < most && len(l.waiting) == 0 {
		l.ahead++
		l.mu.Unlock()
		return 0, true, nil
	}
	k = l.ahead + len(l.waiting)
	if now.Add(time.Duration(k) * every).After(deadline) {
		l.mu.Unlock()
		return k, false, nil
	}
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	l.mu.Unlock()

	timer := time.NewTimer(deadline.Sub(now))
	defer timer.Stop()
	select {
	case <-turn:
		return 0, true, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
	}
	l.quit(turn)
	return k, false, err
}

// leave lets the next one in, or nobody if there are too many ahead by now.
func (l *line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next()
}

func (l *line) next() {
	if len(l.waiting) == 0 || l.ahead > l.most {
		l.ahead--
		return
	}
	close(l.waiting[0])
	l.waiting = l.waiting[1:]
}

// quit takes a caller out that no longer waits; if its turn came at that moment,
// it passes it on.
func (l *line) quit(turn chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, turn); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		return
	}
	l.next()
}
