package cache

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"backstop/chain"
	"backstop/lead"
	"backstop/providers"
)

// keys are what a secret is used for: one key for the names, one for the values.
type keys struct {
	names  []byte
	values cipher.AEAD
	mark   string // tells this secret from others
}

// newKeys derives the keys from a secret (RFC 5869, without a salt: the secret
// is random).
func newKeys(secret []byte) (*keys, error) {
	names, err := hkdf.Key(sha256.New, secret, nil, "backstop answers: names", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	values, err := hkdf.Key(sha256.New, secret, nil, "backstop answers: values", 32)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(values)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	mark, err := hkdf.Key(sha256.New, secret, nil, "backstop answers: mark", 12)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	return &keys{names: names, values: aead, mark: base64.RawURLEncoding.EncodeToString(mark)}, nil
}

// hash is a keyed hash of the parts, each with its length, so that no two lists
// of parts are the same.
func (k *keys) hash(parts ...string) []byte {
	h := hmac.New(sha256.New, k.names)
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		_, _ = io.WriteString(h, p) // a hash takes everything
	}
	return h.Sum(nil)
}

// names are the Redis keys of one question.
type names struct{ answer, lock, all, gone string }

func (k *keys) namesOf(prefix string, key chain.Key) names {
	person := k.person(prefix, key.Subject)
	answer := person + base64.RawURLEncoding.EncodeToString(k.hash("question", key.Provider, key.Endpoint, key.Subject, key.Variant))
	return names{answer: answer, lock: answer + ":lock", all: person + "all", gone: person + "gone"}
}

// person begins the Redis keys of all answers about one person, in whichever
// spelling of their address they were asked about.
func (k *keys) person(prefix, subject string) string {
	if !strings.Contains(subject, ":") { // which no address has, but every other kind of subject
		if one := lead.EmailPersonKey(subject); one != "" {
			subject = one
		}
	}
	return prefix + ":answers:{" + base64.RawURLEncoding.EncodeToString(k.hash("person", subject)[:16]) + "}:"
}

// record is an answer as it is kept.
type record struct {
	At      time.Time    `json:"at"`
	Class   lead.Class   `json:"class"`
	Status  int          `json:"status,omitempty"`
	Detail  string       `json:"detail,omitempty"`
	Profile lead.Profile `json:"profile,omitempty"`
	AsOf    time.Time    `json:"as_of,omitzero"`

	Confidence float64 `json:"confidence,omitempty"`
	Ticket     string  `json:"ticket,omitempty"`
}

// form begins every value: what comes after it, should that ever change.
const form = 1

// seal encodes and encrypts an answer for the name under which it is kept.
func (k *keys) seal(name string, a chain.Entry) ([]byte, error) {
	text, err := json.Marshal(record{
		At: a.At, Class: a.Class, Status: a.Status, Detail: a.Detail, Profile: a.Profile, AsOf: a.AsOf,
		Confidence: a.Confidence, Ticket: a.Ticket,
	})
	if err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	return k.values.Seal([]byte{form}, nil, text, []byte(name)), nil
}

var errSealed = errors.New("a kept answer that cannot be opened")

// open is the inverse of seal. Its errors quote nothing.
func (k *keys) open(name string, value []byte) (chain.Entry, error) {
	if len(value) == 0 || value[0] != form {
		return chain.Entry{}, errSealed
	}
	text, err := k.values.Open(nil, nil, value[1:], []byte(name))
	if err != nil {
		return chain.Entry{}, errSealed
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return chain.Entry{}, errSealed
	}
	return chain.Entry{At: r.At, Answer: providers.Answer{
		Class: r.Class, Status: r.Status, Detail: r.Detail, Profile: r.Profile, AsOf: r.AsOf,
		Confidence: r.Confidence, Ticket: r.Ticket,
	}}, nil
}
