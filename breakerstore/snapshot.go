package breakerstore

// A circuit as a script replies it.

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sony/gobreaker/v2"
)

// million is the unit of parts in Redis, where numbers are whole.
const million = 1_000_000

// A snapshot is a provider's circuit as a script wrote it; lua/lib.lua says what
// the fields mean. Times are microseconds of Redis's clock.
type snapshot struct {
	now, ver, gen, epoch               int64
	state                              gobreaker.State
	manual                             bool
	retry, cooldown, lease             int64
	paused, suspended                  int64
	trips, factor, factorAt            int64
	lowered, since, at                 int64
	suspendedFor, auth, replica, cause string
}

// fields is how many values a snapshot's text has.
const fields = 21

// parseSnapshot reads the text that lib.lua's text made.
func parseSnapshot(text string) (snapshot, error) {
	part := strings.Split(text, "\t")
	if len(part) != fields {
		return snapshot{}, fmt.Errorf("circuit of %d fields: %w", len(part), errReply)
	}
	var s snapshot
	var state, manual int64
	for i, to := range []*int64{
		&s.now, &s.ver, &s.gen, &s.epoch, &state, &manual, &s.retry, &s.cooldown, &s.lease, &s.paused, &s.suspended,
		&s.trips, &s.factor, &s.factorAt, &s.lowered, &s.since, &s.at,
	} {
		n, err := strconv.ParseInt(part[i], 10, 64)
		if err != nil {
			return snapshot{}, fmt.Errorf("field %d of a circuit: %w", i, errReply)
		}
		*to = n
	}
	if state < 0 || state > int64(gobreaker.StateOpen) {
		return snapshot{}, fmt.Errorf("circuit in state %d: %w", state, errReply)
	}
	s.state, s.manual = gobreaker.State(state), manual == 1
	s.suspendedFor, s.auth, s.replica, s.cause = part[17], part[18], part[19], part[20]
	return s, nil
}

// refuses reports whether a key with this fingerprint was refused.
func (s snapshot) refuses(fingerprint string) bool {
	return strings.Contains(s.auth, " "+fingerprint+" ")
}

// snapshotOf is the circuit that a reply ends with.
func snapshotOf(reply []any) (snapshot, error) {
	if text, ok := reply[len(reply)-1].(string); ok {
		return parseSnapshot(text)
	}
	return snapshot{}, errReply
}

// parseEvent reads a message of the channel.
func parseEvent(text string) (provider string, s snapshot, err error) {
	provider, text, ok := strings.Cut(text, "\t")
	if !ok {
		return "", snapshot{}, errReply
	}
	s, err = parseSnapshot(text)
	return provider, s, err
}
