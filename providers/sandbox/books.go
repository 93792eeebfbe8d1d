package sandbox

import (
	"maps"
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
	People           int            `json:"people"`              // different people asked about
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
	people  map[uint64]int
	second  window // arrivals
	arrived window // arrivals in the limit's window
	passed  window // what the limit let through
}

func newLedger(l Limit) *ledger {
	return &ledger{
		book:    Book{ByStatus: map[int]int{}, ByEndpoint: map[string]int{}, Limit: l},
		people:  map[uint64]int{},
		second:  window{length: time.Second},
		arrived: window{length: l.Per},
		passed:  window{length: l.Per},
	}
}

// An arrival is a call's place in the books.
type arrival struct {
	nth    int // among the calls about this person, from 1
	over   bool
	left   int       // calls that the limit still allows now
	resets time.Time // when it allows another, if it has a limit
}

// arrive counts a call and decides whether the limit lets it through. The clock
// is read under the lock, so that the times in the windows ascend.
func (l *ledger) arrive(email, endpoint string) arrival {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, b := time.Now(), &l.book
	if b.Calls == 0 {
		b.First = now
	}
	b.Last = now
	b.Calls++
	b.ByEndpoint[endpoint]++
	b.Open++
	b.MostAtOnce = max(b.MostAtOnce, b.Open)
	b.MostInAnySecond = max(b.MostInAnySecond, l.second.add(now))
	var a arrival
	if email != "" {
		person := hash(0, key(email))
		l.people[person]++
		a.nth = l.people[person]
		b.People = len(l.people)
		b.MostForOnePerson = max(b.MostForOnePerson, a.nth)
	}
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

func (l *ledger) callsFor(email string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.people[hash(0, key(email))]
}
