package config

import (
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// YAML writes the configuration as a file that could be read in again, passwords
// hidden.
func (c Config) YAML() ([]byte, error) {
	b, err := yaml.Marshal(c.Redacted())
	if err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	return b, nil
}

// JSON writes the same as JSON; durations are text in both.
func (c Config) JSON() ([]byte, error) {
	b, err := c.YAML()
	if err != nil {
		return nil, err
	}
	var v map[string]any
	if err := yaml.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	return json.MarshalIndent(v, "", "  ")
}
