package breakerstore

// Callers that wait before they may reserve a slot.

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A queue is where a replica's callers wait before they may reserve a slot. Few of
// them have reserved slots at a time, so that the replicas share the slots evenly
// and a change of the rate soon reaches all. First come, first served.
type queue struct {
	mu      sync.Mutex
	ahead   int             // callers that have reserved a slot
	most    int             // so many may; the last to join knew best
	waiting []chan struct{} // each closed when its turn has come
}

// join waits for the caller's turn until the deadline. ok is false when it cannot
// come in time; k is then how many were in front. Callers that were let in must
// leave.
//
// every is how far slots are apart at best. A wait that cannot end in time is not
// begun.
func (q *queue) join(ctx context.Context, most int, now, deadline time.Time, every time.Duration) (k int, ok bool, err error) {
	q.mu.Lock()
	q.most = most
	if q.ahead < most && len(q.waiting) == 0 {
		q.ahead++
		q.mu.Unlock()
		return 0, true, nil
	}
	k = q.ahead + len(q.waiting)
	if now.Add(time.Duration(k) * every).After(deadline) {
		q.mu.Unlock()
		return k, false, nil
	}
	turn := make(chan struct{})
	q.waiting = append(q.waiting, turn)
	q.mu.Unlock()

	timer := time.NewTimer(deadline.Sub(now))
	defer timer.Stop()
	select {
	case <-turn:
		return 0, true, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
	}
	q.giveUp(turn)
	return k, false, err
}

// leave lets the next one in, or nobody if too many are ahead by now.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next()
}

func (q *queue) next() {
	if len(q.waiting) == 0 || q.ahead > q.most {
		q.ahead--
		return
	}
	close(q.waiting[0])
	q.waiting = q.waiting[1:]
}

// giveUp takes a caller out that no longer waits; if its turn came at that moment,
// the next one gets it.
func (q *queue) giveUp(turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, turn); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return
	}
	q.next()
}
