package sandbox

import (
	"maps"
	"strings"
	"sync"
	"time"
)

// Books are what the sandbox saw, by provider.
type Books struct {
	Since     time.Time       `json:"since"`
	Providers map[string]Book `json:"providers"`
}

// A Book is what one provider saw. Its calls are counted as they arrive, whatever
// becomes of them.
type Book struct {
	Calls            int            `json:"calls"`
	ByStatus         map[int]int    `json:"by_status"` // as answered; 0: without a whole answer
	ByEndpoint       map[string]int `json:"by_endpoint"`
	Billed           int            `json:"billed"`              // what the vendor would charge: credits or matches
	People           int            `json:"people"`              // different people asked about, by whatever identifies them
	Companies        int            `json:"companies"`           // different companies asked about by their domain
	MostForOnePerson int            `json:"most_for_one_person"` // calls
	MostInAnySecond  int            `json:"most_in_any_second"`  // arrivals
	MostInAnyWindow  int            `json:"most_in_any_window"`  // arrivals in the limit's window
	Limit            Limit          `json:"limit"`
	OverLimit        int            `json:"over_limit"` // calls that came when the window was full
	Dropped          int            `json:"dropped"`    // swallowed by the limit or by a fault of that kind
	BadKey           int            `json:"bad_key"`
	Open             int            `json:"open"` // now being answered
	MostAtOnce       int            `json:"most_at_once"`
	First            time.Time      `json:"first,omitzero"`
	Last             time.Time      `json:"last,omitzero"`
}

// ledger keeps one provider's book and enforces its limit.
type ledger struct {
	mu      sync.Mutex
	book    Book
	calls   map[uint64]int  // by subject
	charged map[uint64]bool // what is charged only once
	second  window          // arrivals
	arrived window          // arrivals in the limit's window
	passed  window          // what the limit let through
}

func newLedger(l Limit) *ledger {
	return &ledger{
		book:    Book{ByStatus: map[int]int{}, ByEndpoint: map[string]int{}, Limit: l},
		calls:   map[uint64]int{},
		charged: map[uint64]bool{},
		second:  window{length: time.Second},
		arrived: window{length: l.Per},
		passed:  window{length: l.Per},
	}
}

// An arrival is a call's place in the books.
type arrival struct {
	nth    int // among the calls about this subject, from 1
	over   bool
	left   int       // calls that the limit still allows now
	resets time.Time // when it allows another, if it has a limit
}

// arrive counts a call and decides whether the limit lets it through. The clock
// is read under the lock, so that the times in the windows ascend. A call that is
// free takes no place in them.
func (l *ledger) arrive(c call) arrival {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, b := time.Now(), &l.book
	if b.Calls == 0 {
		b.First = now
	}
	b.Last = now
	b.Calls++
	b.ByEndpoint[c.endpoint]++
	b.Open++
	b.MostAtOnce = max(b.MostAtOnce, b.Open)
	a := arrival{nth: l.count(c.subject())}
	if c.free {
		return a
	}
	b.MostInAnySecond = max(b.MostInAnySecond, l.second.add(now))
	if b.Limit.Rate > 0 {
		b.MostInAnyWindow = max(b.MostInAnyWindow, l.arrived.add(now))
		a.over = l.passed.at(now) >= b.Limit.Rate
		if a.over {
			b.OverLimit++
		}
		if !a.over || b.Limit.Enforce == EnforceNone {
			l.passed.add(now)
		}
		a.left = max(b.Limit.Rate-l.passed.at(now), 0)
		a.resets = l.passed.frees()
	}
	return a
}

// count counts a call about somebody or something and returns how many there were.
func (l *ledger) count(subject string) int {
	if subject == "" {
		return 0
	}
	id := hash(0, key(subject))
	l.calls[id]++
	n := l.calls[id]
	if strings.HasPrefix(subject, companyPrefix) {
		if n == 1 {
			l.book.Companies++
		}
		return n
	}
	if n == 1 {
		l.book.People++
	}
	l.book.MostForOnePerson = max(l.book.MostForOnePerson, n)
	return n
}

// charge counts an answer that the vendor charges for.
func (l *ledger) charge(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id := hash(0, name); name == "" || !l.charged[id] {
		l.book.Billed++
		l.charged[id] = true
	}
}

// leave counts how a call ended; status 0 is one without a whole answer.
func (l *ledger) leave(status int, dropped, badKey bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.book.Open--
	l.book.ByStatus[status]++
	if dropped {
		l.book.Dropped++
	}
	if badKey {
		l.book.BadKey++
	}
}

func (l *ledger) copy() Book {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.book
	b.ByStatus, b.ByEndpoint = maps.Clone(b.ByStatus), maps.Clone(b.ByEndpoint)
	return b
}

func (l *ledger) callsFor(subject string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[hash(0, key(subject))]
}
