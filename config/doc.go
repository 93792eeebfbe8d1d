// Package config is the one configuration of all commands: built-in defaults,
// then a file (backstop.yaml, YAML or JSON), then the environment.
//
// Every key has a variable BACKSTOP_…, with two underscores between levels:
// BACKSTOP_REDIS__URL is redis.url. Lists of names are comma-separated there,
// other lists and maps are written as YAML. Secrets are never keys: the
// configuration names the variable or the file that holds them, and a password
// in a URL is shown as "xxxxx" ([Config.Redacted]).
//
// A key that does not exist is an error, because a misspelt limit would otherwise
// be no limit. Variables of service links are ignored. A renamed key keeps its old
// name for one version, with a warning.
package config
