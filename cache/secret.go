package cache

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"
)

const (
	secretSize = 32
	// recheck is how often the secret in Redis is read again. It bounds how long
	// workers disagree after Redis lost it and a new worker made another.
	recheck = 30 * time.Second
)

// A ring has the keys of the fleet's secret: the configured one, or one that is
// in Redis.
type ring struct {
	rdb     redis.UniversalClient
	key     string // in Redis
	timeout time.Duration
	fixed   *keys // of a configured secret; nil without one

	asking  singleflight.Group
	current atomic.Pointer[shared]
}

// shared is a secret that the workers agree on through Redis.
type shared struct {
	keys    *keys
	secret  []byte
	agreed  bool      // Redis has it
	checked time.Time // when that was so; by this process's clock
}

// newRing starts with a random secret, which Redis has not agreed to yet.
func newRing(o Options, rdb redis.UniversalClient) (*ring, error) {
	r := &ring{rdb: rdb, key: o.Prefix + ":answers:secret", timeout: o.Timeout}
	if len(o.Secret) > 0 {
		k, err := newKeys(o.Secret)
		r.fixed = k
		return r, err
	}
	secret := make([]byte, secretSize)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("make a secret: %w", err)
	}
	k, err := newKeys(secret)
	r.current.Store(&shared{keys: k, secret: secret})
	return r, err
}

// own are the keys that this process has without asking Redis.
func (r *ring) own() *keys {
	if r.fixed != nil {
		return r.fixed
	}
	return r.current.Load().keys
}

// agree gives the keys of the whole fleet. It asks Redis when that is due, and
// puts the secret back into a Redis that lost it. All who come meanwhile wait for
// the one who asks, which its time-out bounds; ctx does not end it.
func (r *ring) agree(ctx context.Context) (*keys, error) {
	if r.fixed != nil {
		return r.fixed, nil
	}
	if s := r.current.Load(); s.agreed && time.Since(s.checked) < recheck {
		return s.keys, nil
	}
	_, err, _ := r.asking.Do("", func() (any, error) { return nil, r.renew(context.WithoutCancel(ctx)) })
	if err != nil {
		return nil, fmt.Errorf("agree on a secret: %w", err)
	}
	return r.current.Load().keys, nil
}

// renew makes the secret that is in Redis the current one.
func (r *ring) renew(ctx context.Context) error {
	s := r.current.Load()
	secret, err := r.exchange(ctx, s.secret)
	if err != nil {
		return err
	}
	next := &shared{keys: s.keys, secret: secret, agreed: true, checked: time.Now()}
	if string(secret) != string(s.secret) {
		if next.keys, err = newKeys(secret); err != nil {
			return err
		}
	}
	r.current.Store(next)
	return nil
}

// exchange offers a secret and takes the one that Redis had first.
func (r *ring) exchange(ctx context.Context, offer []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	text := base64.RawStdEncoding.EncodeToString(offer)
	err := r.rdb.SetArgs(ctx, r.key, text, redis.SetArgs{Mode: "NX"}).Err()
	if err != nil && !errors.Is(err, redis.Nil) { // Nil: there is one already
		return nil, err
	}
	text, err = r.rdb.Get(ctx, r.key).Result()
	if err != nil {
		return nil, err
	}
	secret, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(secret) != secretSize {
		return nil, fmt.Errorf("the secret at %s is damaged: delete it, which costs what was kept", r.key)
	}
	return secret, nil
}
