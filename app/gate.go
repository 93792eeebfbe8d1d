package app

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/rs/zerolog"

	"backstop/breakerstore"
	"backstop/config"
	"backstop/resilience"
)

// Gate makes a replica's part of the fleet's gate; Redis must be open. Its
// Shutdown ends it. One that only looks or switches by hand needs no name and no
// hook.
func (a *App) Gate(replica string, log zerolog.Logger, hook func(resilience.Transition)) (*breakerstore.Gate, error) {
	configs, err := a.gateConfigs()
	if err != nil {
		return nil, err
	}
	g, err := breakerstore.New(a.Redis, configs, breakerstore.Options{
		Prefix: a.Config.Redis.Prefix, Replica: replica, Hook: hook, Logger: log,
	})
	if err != nil {
		return nil, Usage(err)
	}
	return g, nil
}

// gateConfigs are the providers as a gate wants them.
func (a *App) gateConfigs() ([]resilience.GateConfig, error) {
	var configs []resilience.GateConfig
	for _, name := range used(a.Config) {
		p := a.Config.Providers[name]
		key, err := a.Config.APIKey(name)
		if err != nil {
			return nil, Usage(err)
		}
		configs = append(configs, gateConfig(name, p, key))
	}
	return configs, nil
}

func gateConfig(name string, p config.Provider, key string) resilience.GateConfig {
	return resilience.GateConfig{
		Provider: name, Limits: p.Limits, Timeout: p.Timeout, MaxWait: p.MaxWait, MaxPause: p.MaxPause,
		Failures: p.Circuit.Failures, Window: p.Circuit.Window, Cooldown: p.Circuit.Cooldown,
		FailureRatio: p.Circuit.Ratio, MinCalls: p.Circuit.MinCalls,
		MaxCooldown: p.Circuit.MaxCooldown,
		Fingerprint: fingerprint(name, key),
	}
}

// fingerprint stands for a key, so that a refused one can be told from its
// successor. Keys are long and random: a hash does not give them away.
func fingerprint(provider, key string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "backstop key of %s\x00%s", provider, key))
	return hex.EncodeToString(sum[:8])
}
