package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// ParseURL parses a URL whose host may be several addresses, as a cluster's is.
// Its errors do not quote the URL, which may hold a password.
func ParseURL(s string) (*url.URL, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return nil, errors.New("not a URL")
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@') + 1
	hosts := rest[at:end]
	// The addresses after the first are set aside: net/url knows only one.
	first, _, _ := strings.Cut(hosts, ",")
	u, err := url.Parse(scheme + "://" + rest[:at] + first + rest[end:])
	if err != nil {
		return nil, errors.New("not a URL")
	}
	u.Host = hosts
	return u, nil
}

// RedisURL is the URL with the password from its variable or file.
func (c Config) RedisURL() (string, error) {
	return withPassword("redis", c.Redis.URL, c.Redis.PasswordEnv, c.Redis.PasswordFile)
}

// LedgerURL is the URL with the password from its variable or file.
func (c Config) LedgerURL() (string, error) {
	return withPassword("ledger", c.Ledger.URL, c.Ledger.PasswordEnv, c.Ledger.PasswordFile)
}

func withPassword(key, s, env, file string) (string, error) {
	password, err := secret(key+".password", env, file)
	if err != nil || password == "" {
		return s, err
	}
	u, err := ParseURL(s)
	if err != nil {
		return "", fmt.Errorf("%s.url: %w", key, err)
	}
	u.User = url.UserPassword(u.User.Username(), password)
	return u.String(), nil
}

// APIKey is a provider's key, "" when it has none.
func (c Config) APIKey(provider string) (string, error) {
	p := c.Providers[provider]
	return secret("providers."+provider+".api_key", p.APIKeyEnv, p.APIKeyFile)
}

// SecretEnv is the variable that holds the workers' common secret unless the
// configuration names another one.
const SecretEnv = Prefix + "SECRET"

// minSecret is the shortest secret, in characters.
const minSecret = 16

// CacheSecret is the secret of the cached answers, "" when there is none.
func (c Config) CacheSecret() (string, error) {
	s, err := secret("cache.secret", c.Cache.SecretEnv, c.Cache.SecretFile)
	if err == nil && s != "" && len(s) < minSecret {
		return "", fmt.Errorf("cache: the secret has %d characters: use %d or more random ones", len(s), minSecret)
	}
	return s, err
}

// secret reads a secret from the file, if one is named, else from the variable.
func secret(key, env, file string) (string, error) {
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("%s_file: %w", key, err)
		}
		return strings.TrimSpace(string(b)), nil
	}
	if env != "" {
		return strings.TrimSpace(os.Getenv(env)), nil
	}
	return "", nil
}

// Redacted is the configuration with the passwords in its URLs hidden, for people
// and logs.
func (c Config) Redacted() Config {
	c.Redis.URL = redactURL(c.Redis.URL)
	c.Ledger.URL = redactURL(c.Ledger.URL)
	return c
}

func redactURL(s string) string {
	u, err := ParseURL(s)
	if err != nil {
		return "(not a URL)"
	}
	if _, has := u.User.Password(); !has {
		return s
	}
	u.User = url.UserPassword(u.User.Username(), "xxxxx")
	return u.String()
}
