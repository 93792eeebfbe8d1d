package config

import (
	"time"

	"backstop/chain"
	"backstop/resilience"
)

// Config is everything that can be configured. Durations are Go durations ("1s",
// "2m").
type Config struct {
	Redis     Redis               `koanf:"redis" yaml:"redis"`
	Ledger    Ledger              `koanf:"ledger" yaml:"ledger"`
	Chain     []string            `koanf:"chain" yaml:"chain"`       // asked in this order by lead:enrich
	Fallback  []string            `koanf:"fallback" yaml:"fallback"` // asked by lead:fallback before it settles
	Want      []string            `koanf:"want" yaml:"want"`         // a profile with these fields is full
	Retry     resilience.Retry    `koanf:"retry" yaml:"retry"`
	Pending   chain.Pending       `koanf:"pending" yaml:"pending"`
	Worker    Worker              `koanf:"worker" yaml:"worker"`
	Log       Log                 `koanf:"log" yaml:"log"`
	Cache     Cache               `koanf:"cache" yaml:"cache"`
	Overwrite []string            `koanf:"overwrite" yaml:"overwrite,omitempty"` // fields where a provider's value replaces the one that the lead came with
	Retention Retention           `koanf:"retention" yaml:"retention"`
	HTTP      HTTP                `koanf:"http" yaml:"http,omitempty"`
	Providers map[string]Provider `koanf:"providers" yaml:"providers"`
}

// Redis is where the queues and the shared circuits are.
type Redis struct {
	// URL is redis://, rediss:// (TLS) or redis-sentinel://; several addresses
	// separated by commas are a cluster.
	URL          string `koanf:"url" yaml:"url"`
	PasswordEnv  string `koanf:"password_env" yaml:"password_env,omitempty"`   // the variable with the password
	PasswordFile string `koanf:"password_file" yaml:"password_file,omitempty"` // or the file with it
	Prefix       string `koanf:"prefix" yaml:"prefix"`                         // of the keys of circuits and limits
}

// Ledger is the database that owns the leads.
type Ledger struct {
	// URL is sqlite://relative/path, sqlite:///absolute/path or postgres://….
	URL          string `koanf:"url" yaml:"url"`
	PasswordEnv  string `koanf:"password_env" yaml:"password_env,omitempty"`
	PasswordFile string `koanf:"password_file" yaml:"password_file,omitempty"`
}

// Worker sizes one replica.
type Worker struct {
	Concurrency int           `koanf:"concurrency" yaml:"concurrency"` // leads worked on at once
	Admin       string        `koanf:"admin" yaml:"admin"`             // address of health, metrics and asynqmon; "" is none
	Grace       time.Duration `koanf:"grace" yaml:"grace"`             // how long a stop waits for calls under way
}

// Log is what is logged and how.
type Log struct {
	Level  string `koanf:"level" yaml:"level"`   // debug, info, warn, error
	Format string `koanf:"format" yaml:"format"` // json, or console for people
}

// Cache says for how long providers' answers are kept in Redis, so that the same
// answer is not paid for twice. An age of 0 keeps nothing.
type Cache struct {
	Positive time.Duration `koanf:"positive" yaml:"positive"` // data
	Negative time.Duration `koanf:"negative" yaml:"negative"` // "not known", "not an address of a person"

	// The secret that keys and values are derived from: 16 characters or more, random,
	// the same for all workers. Without one, the workers make one and keep it in Redis.
	SecretEnv  string `koanf:"secret_env" yaml:"secret_env,omitempty"`   // the variable with the secret
	SecretFile string `koanf:"secret_file" yaml:"secret_file,omitempty"` // or the file with it
}

// Ages are one provider's ages of cached answers, where they differ from [Cache].
type Ages struct {
	Positive time.Duration `koanf:"positive" yaml:"positive"`
	Negative time.Duration `koanf:"negative" yaml:"negative"`
}

// Retention says for how long settled leads are kept. 0 is for ever.
type Retention struct {
	Outcomes time.Duration `koanf:"outcomes" yaml:"outcomes"` // then the lead is deleted with all that belongs to it
	Trails   time.Duration `koanf:"trails" yaml:"trails"`     // then only its trail is deleted
}

// HTTP is how all providers are reached. Proxies come from the usual variables
// HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
type HTTP struct {
	// CAFile has certificates in PEM that are trusted beside those of the system.
	CAFile string `koanf:"ca_file" yaml:"ca_file,omitempty"`
}

// Provider is one API.
type Provider struct {
	// Description is the file that describes a provider that Backstop does not know,
	// or knows differently. A relative one is beside the configuration file.
	Description string `koanf:"description" yaml:"description,omitempty"`

	BaseURL    string             `koanf:"base_url" yaml:"base_url"` // scheme, host and prefix; the API's paths are appended
	APIKeyEnv  string             `koanf:"api_key_env" yaml:"api_key_env"`
	APIKeyFile string             `koanf:"api_key_file" yaml:"api_key_file,omitempty"`
	Timeout    time.Duration      `koanf:"timeout" yaml:"timeout"` // of one call
	Limits     []resilience.Limit `koanf:"limits" yaml:"limits"`   // all of them hold, for all replicas together
	Circuit    Circuit            `koanf:"circuit" yaml:"circuit"`
	MaxWait    time.Duration      `koanf:"max_wait" yaml:"max_wait"`   // longest wait for a slot of the limits before the lead is put back
	MaxPause   time.Duration      `koanf:"max_pause" yaml:"max_pause"` // longest that the provider's "wait" is believed
	Cache      Ages               `koanf:"cache" yaml:"cache"`         // by default those of all providers

	Fills  []string `koanf:"fills" yaml:"fills,omitempty"`     // profile fields that it is asked for; empty: all that it knows
	OnlyIf []string `koanf:"only_if" yaml:"only_if,omitempty"` // conditions that a lead must meet, such as has_domain

	Credits float64            `koanf:"credits" yaml:"credits"`         // price of a call that the provider charges
	Prices  map[string]float64 `koanf:"prices" yaml:"prices,omitempty"` // of endpoints with another one, such as email-verifier
	Caps    Caps               `koanf:"caps" yaml:"caps,omitempty"`

	// Endpoints are those that prices may name, as a provider's facts have them. They
	// are no setting.
	Endpoints []string `koanf:"-" yaml:"-"`

	// MinLikelihood is the least likelihood, from 1 to 10, with which an answer counts
	// as one about the right person; 0: the provider's default. People Data Labs only.
	MinLikelihood int `koanf:"min_likelihood" yaml:"min_likelihood,omitempty"`
}

// Caps are the most credits that all replicas together spend at a provider in a
// day and in a month, both of UTC. 0 is no cap.
type Caps struct {
	Day   float64 `koanf:"day" yaml:"day,omitempty"`
	Month float64 `koanf:"month" yaml:"month,omitempty"`
}

// Circuit says when a provider is left alone.
type Circuit struct {
	Failures int           `koanf:"failures" yaml:"failures"` // so many …
	Window   time.Duration `koanf:"window" yaml:"window"`     // … within this time open it
	Cooldown time.Duration `koanf:"cooldown" yaml:"cooldown"` // after so long one probe is allowed

	// Off unless set: a share of failures that opens it as well, once there were
	// MinCalls calls in the window; the longest cooldown, which then doubles after each
	// failed probe.
	Ratio       float64       `koanf:"ratio" yaml:"ratio,omitempty"`
	MinCalls    int           `koanf:"min_calls" yaml:"min_calls,omitempty"`
	MaxCooldown time.Duration `koanf:"max_cooldown" yaml:"max_cooldown,omitempty"`
}

// Defaults is the configuration when nothing is configured, without providers:
// those are added from [Source.Facts].
func Defaults() Config {
	return Config{
		Redis:    Redis{URL: "redis://127.0.0.1:6379/0", Prefix: "backstop"},
		Ledger:   Ledger{URL: "sqlite://backstop-data/ledger.db"},
		Chain:    []string{"clearbit", "hunter"},
		Fallback: []string{"directory"},
		Want:     []string{"person.name", "person.title", "company.name", "company.domain"},
		Retry:    resilience.DefaultRetry,
		Pending:  chain.DefaultPending,
		Worker:   Worker{Concurrency: 32, Admin: "127.0.0.1:9090", Grace: 20 * time.Second},
		Log:      Log{Level: "info", Format: "json"},
		Cache:    Cache{Positive: 24 * time.Hour, Negative: 24 * time.Hour, SecretEnv: SecretEnv},
	}
}

// withFacts are the defaults of a provider about which the facts f are known.
func withFacts(f Provider) Provider {
	return Provider{
		BaseURL: f.BaseURL, APIKeyEnv: f.APIKeyEnv, Limits: f.Limits,
		Timeout: resilience.DefaultTimeout, MaxWait: resilience.DefaultMaxWait, MaxPause: resilience.DefaultMaxPause,
		Circuit: Circuit{Failures: resilience.DefaultFailures, Window: resilience.DefaultWindow, Cooldown: resilience.DefaultCooldown},
		Credits: 1,
	}
}
