package config

import (
	"errors"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
)

// decodeProblems turns the decoder's errors into problems that name their place.
func (l *loader) decodeProblems(err error) {
	for _, e := range parts(err) {
		var d *mapstructure.DecodeError
		if !errors.As(e, &d) {
			l.problems = append(l.problems, Problem{Where: l.file, What: e.Error()})
			continue
		}
		// A name is like "Providers[clearbit].Circuit.Window"; keys are lower case.
		key := strings.ToLower(strings.NewReplacer("[", ".", "]", "").Replace(d.Name()))
		l.problem(key, "%s", d.Unwrap().Error())
	}
}

// parts are the errors that err joins, or it alone.
func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, parts(e)...)
		}
		return all
	}
	if inner := errors.Unwrap(err); inner != nil {
		if all := parts(inner); len(all) > 1 {
			return all
		}
	}
	return []error{err}
}

func names(m map[string]Provider) []string { return slices.Sorted(maps.Keys(m)) }

// validate checks what the types cannot.
func (l *loader) validate(c Config) {
	l.checkURL("redis.url", c.Redis.URL, "redis", "rediss", "redis-sentinel")
	l.checkURL("ledger.url", c.Ledger.URL, "sqlite", "postgres", "postgresql")
	if c.Redis.Prefix == "" {
		l.problem("redis.prefix", "is empty: name one, such as backstop")
	}
	l.checkList("chain", c.Chain, names(l.src.Facts))
	if len(c.Chain) == 0 {
		l.problem("chain", "is empty: name at least one provider (%s)", strings.Join(names(l.src.Facts), ", "))
	}
	l.checkList("fallback", c.Fallback, append(names(l.src.Facts), "directory"))
	if len(c.Want) == 0 {
		l.problem("want", "is empty: name at least one profile field, such as person.title")
	}
	l.checkNames("want", c.Want, l.src.Fields)
	l.checkNames("overwrite", c.Overwrite, l.src.Fields)
	l.notNegative("retention.outcomes", c.Retention.Outcomes, "8760h, or 0 to keep for ever")
	l.notNegative("retention.trails", c.Retention.Trails, "8760h, or 0 to keep for ever")
	l.count("retry.max", c.Retry.Max, 0, 20)
	if c.Retry.Factor < 1 || c.Retry.Factor > 10 {
		l.problem("retry.factor", "is %g: use 1 to 10", c.Retry.Factor)
	}
	l.positive("retry.base", c.Retry.Base)
	l.positive("retry.budget", c.Retry.Budget)
	l.positive("pending.first", c.Pending.First)
	l.positive("pending.max", c.Pending.Max)
	l.positive("worker.grace", c.Worker.Grace)
	l.count("worker.concurrency", c.Worker.Concurrency, 1, 10_000)
	if c.Worker.Admin != "" {
		if _, _, err := net.SplitHostPort(c.Worker.Admin); err != nil {
			l.problem("worker.admin", "is not host:port: use 127.0.0.1:9090, or empty for none")
		}
	}
	l.ages("cache", Ages{c.Cache.Positive, c.Cache.Negative}, Ages{})
	l.checkList("log.level", []string{c.Log.Level}, []string{"debug", "info", "warn", "error"})
	l.checkList("log.format", []string{c.Log.Format}, []string{"json", "console"})
	for _, name := range names(c.Providers) {
		l.provider("providers."+name, c.Providers[name])
		l.ages("providers."+name+".cache", c.Providers[name].Cache, Ages{c.Cache.Positive, c.Cache.Negative})
	}
}

func (l *loader) provider(key string, p Provider) {
	u, err := url.Parse(p.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.User != nil {
		l.problem(key+".base_url", "is not a base URL: give scheme and host (and a prefix), such as https://api.example.com")
	}
	l.positive(key+".timeout", p.Timeout)
	for _, limit := range p.Limits {
		if limit.Rate < 1 || limit.Per <= 0 {
			l.problem(key+".limits", "a limit needs a rate of 1 or more and a positive per, such as {rate: 10, per: 1s}")
		}
	}
	l.count(key+".circuit.failures", p.Circuit.Failures, 1, 1_000_000)
	l.spending(key, p)
	l.positive(key+".circuit.window", p.Circuit.Window)
	l.positive(key+".circuit.cooldown", p.Circuit.Cooldown)
	l.positive(key+".max_wait", p.MaxWait)
	l.positive(key+".max_pause", p.MaxPause)
	if p.Circuit.Ratio < 0 || p.Circuit.Ratio > 1 {
		l.problem(key+".circuit.ratio", "is %g: use a share from 0 (off) to 1", p.Circuit.Ratio)
	}
	if p.Circuit.Ratio > 0 && p.Circuit.MinCalls < 1 {
		l.problem(key+".circuit.min_calls", "is %d: a ratio needs the number of calls from which on it counts", p.Circuit.MinCalls)
	}
	if c := p.Circuit; c.MaxCooldown != 0 && c.MaxCooldown < c.Cooldown {
		l.problem(key+".circuit.max_cooldown", "is %s, shorter than the cooldown of %s", c.MaxCooldown, c.Cooldown)
	}
}

// spending checks what a provider is asked for and may cost.
func (l *loader) spending(key string, p Provider) {
	l.checkNames(key+".fills", p.Fills, l.src.Fields)
	l.checkNames(key+".only_if", p.OnlyIf, l.src.Conditions)
	l.amount(key+".credits", p.Credits)
	l.amount(key+".caps.day", p.Caps.Day)
	l.amount(key+".caps.month", p.Caps.Month)
	for _, endpoint := range slices.Sorted(maps.Keys(p.Prices)) {
		l.amount(key+".prices."+endpoint, p.Prices[endpoint])
		if known := l.src.Facts[strings.TrimPrefix(key, "providers.")].Endpoints; len(known) > 0 && !slices.Contains(known, endpoint) {
			l.problem(key+".prices."+endpoint, "there is no such endpoint: use one of %s", strings.Join(known, ", "))
		}
	}
	if p.Caps != (Caps{}) && p.Credits == 0 && len(p.Prices) == 0 {
		l.problem(key+".caps", "cap nothing, because a call costs no credits: set %s.credits", key)
	}
	if p.MinLikelihood < 0 || p.MinLikelihood > 10 {
		l.problem(key+".min_likelihood", "is %d: use 1 to 10, or 0 for the default", p.MinLikelihood)
	}
}

// maxCredits keeps sums of credits exact.
const maxCredits = 1e9

func (l *loader) amount(key string, credits float64) {
	if !(credits >= 0 && credits <= maxCredits) { // NaN is none
		l.problem(key, "is %g: use a number of credits from 0 to 1000000000", credits)
	}
}

func (l *loader) count(key string, n, least, most int) {
	if n < least || n > most {
		l.problem(key, "is %d: use %d to %d", n, least, most)
	}
}

func (l *loader) notNegative(key string, d time.Duration, such string) {
	if d < 0 {
		l.problem(key, "is %s: use a duration such as %s", d, such)
	}
}

func (l *loader) positive(key string, d time.Duration) {
	if d <= 0 {
		l.problem(key, "is %s: use a positive duration such as 5s", d)
	}
}

// ages checks those that are not inherited, and so were checked already.
func (l *loader) ages(key string, a, inherited Ages) {
	if a.Positive != inherited.Positive {
		l.notNegative(key+".positive", a.Positive, "24h, or 0 to keep nothing")
	}
	if a.Negative != inherited.Negative {
		l.notNegative(key+".negative", a.Negative, "24h, or 0 to keep nothing")
	}
}

// checkNames is checkList where the allowed ones are those that the caller of
// [Load] gave; without any, it leaves the list alone.
func (l *loader) checkNames(key string, list, allowed []string) {
	if len(allowed) > 0 {
		l.checkList(key, list, allowed)
	}
}

func (l *loader) checkList(key string, list, allowed []string) {
	seen := map[string]bool{}
	for _, item := range list {
		switch {
		case !slices.Contains(allowed, item):
			l.problem(key, "there is no %q: use one of %s", item, strings.Join(allowed, ", "))
		case seen[item]:
			l.problem(key, "names %q twice: name each once", item)
		}
		seen[item] = true
	}
}

// checkURL checks a URL's scheme, and that no password stands in a file.
func (l *loader) checkURL(key, s string, schemes ...string) {
	u, err := ParseURL(s)
	if err != nil || !slices.Contains(schemes, u.Scheme) {
		l.problem(key, "is not a URL that can be used: begin it with %s://", strings.Join(schemes, "://, "))
		return
	}
	if _, has := u.User.Password(); has && !strings.HasPrefix(l.origin[key], fromEnviron) {
		l.problem(key, "holds a password: leave it out and name a variable or file with %[1]s.password_env or %[1]s.password_file",
			strings.TrimSuffix(key, ".url"))
	}
}
