package cache

import "backstop/chain"

// Recheck makes the store read the secret in Redis again at its next question.
func (s *Store) Recheck() {
	next := *s.ring.current.Load()
	next.agreed = false
	s.ring.current.Store(&next)
}

// A Sealer is what values go through.
type Sealer struct{ keys *keys }

// NewSealer makes one for a secret.
func NewSealer(secret []byte) (Sealer, error) {
	k, err := newKeys(secret)
	return Sealer{k}, err
}

// Seal is the way in.
func (s Sealer) Seal(name string, a chain.Entry) ([]byte, error) { return s.keys.seal(name, a) }

// Open is the way out.
func (s Sealer) Open(name string, value []byte) (chain.Entry, error) {
	return s.keys.open(name, value)
}
