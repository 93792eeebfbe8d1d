package ledger

import (
	"crypto/sha256"
	"encoding/hex"
)

// A fence is the place from which a run of a lead writes. Each write that gets
// through moves the lead on to the next version, so a run that was stopped while
// another one took over its lead is behind, and can overwrite nothing.
type fence struct {
	generation int
	version    int64  // 0: the write is not fenced
	write      string // what is written, in short; empty when it is not fenced
}

// newFence is the fence of a write. What it holds includes the times of a run's
// calls, so that two runs never write the same; if they did, it would not matter
// which of the two it was.
func newFence(kind string, generation int, version int64, written any) (fence, error) {
	f := fence{generation: generation, version: version}
	if version == 0 {
		return f, nil
	}
	text, err := jsonText(written)
	if err != nil {
		return f, err
	}
	sum := sha256.Sum256([]byte(kind + text))
	f.write = hex.EncodeToString(sum[:16])
	return f, nil
}

// A fate is what becomes of a change.
type fate int

const (
	fresh    fate = iota // nothing of it was written before
	unsure               // it may be the repetition of a write whose answer was lost
	repeated             // it is: all of it is there
	stale                // the run was overtaken: only its trail is written, if it is not there
)

// admit holds a write against the fence, and moves the lead on if it gets through.
func (r *row) admit(f fence) fate {
	switch {
	case f.version == 0:
		return fresh
	case f.write == r.LastWrite: // also names the version, so it is no older one
		return repeated
	case f.version != r.Version || f.generation != r.generation:
		return stale
	}
	r.Version++
	r.LastWrite = f.write
	return fresh
}
