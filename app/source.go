package app

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"backstop/chain"
	"backstop/config"
	"backstop/lead"
	"backstop/providers"
	"backstop/providers/described"
	"backstop/providers/httpjson"
	"backstop/providers/vendors"
)

// Source is where a configuration comes from, with what Backstop knows by itself:
// the providers, the profile fields and the conditions. file may be "".
func Source(file string, environ []string) config.Source {
	facts := map[string]config.Provider{}
	for _, name := range vendors.Names() {
		f, _ := vendors.FactsOf(name) // a name that Names gave is known
		facts[name] = factsOf(f)
	}
	return config.Source{
		File: file, Environ: environ, Facts: facts,
		Fields: named[string](lead.Fields), Conditions: named[string](chain.Conditions),
		Describe: func(file string) (config.Provider, error) {
			d, err := readDescription(file)
			if err != nil {
				return config.Provider{}, err
			}
			return factsOf(d.Facts()), nil
		},
	}
}

func factsOf(f described.Facts) config.Provider {
	return config.Provider{BaseURL: f.BaseURL, APIKeyEnv: f.KeyEnv, Endpoints: f.Endpoints, Limits: f.Limits}
}

func readDescription(file string) (*described.Description, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return described.ParseDescription(filepath.Base(file), text)
}

// describe makes the provider that a file describes, under the name that the
// configuration gives it.
func describe(name, file string, o httpjson.Options) (providers.Provider, error) {
	d, err := readDescription(file)
	if err != nil {
		return nil, Usagef("providers.%s.description: %w", name, err)
	}
	p, err := d.New(name, o)
	if err != nil {
		return nil, Usagef("providers.%s: %w", name, err)
	}
	return p, nil
}

// httpClient is what all providers of this process are asked with.
func (a *App) httpClient() (*http.Client, error) {
	if a.Config.HTTP.CAFile == "" {
		return httpjson.DefaultClient(), nil
	}
	if a.client == nil {
		c, err := httpjson.NewHTTPClient(httpjson.HTTPOptions{CAFile: a.Config.HTTP.CAFile})
		if err != nil {
			return nil, Usage(fmt.Errorf("http.ca_file: %w", err))
		}
		a.client = c
	}
	return a.client, nil
}
