package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"backstop/lead"
	"backstop/ledger"
)

// filterFlags pick outcomes.
type filterFlags struct {
	statuses      []string
	since, source string
}

func (f *filterFlags) add(c *cobra.Command, statuses []string, help string) {
	c.Flags().StringSliceVar(&f.statuses, "status", statuses, help)
	c.Flags().StringVar(&f.since, "since", "", "only outcomes settled since a `TIME`: a duration such as 24h, or RFC 3339")
	c.Flags().StringVar(&f.source, "source", "", "only leads of this source")
}

func (f *filterFlags) filter(now time.Time) (filter ledger.Filter, err error) {
	filter.Source = f.source
	for _, s := range f.statuses {
		status, err := lead.ParseStatus(s)
		if err != nil {
			return filter, err
		}
		filter.Statuses = append(filter.Statuses, status)
	}
	filter.Since, err = parseSince(f.since, now)
	return filter, err
}

// parseSince reads a time: so long ago, a day, or an instant.
func parseSince(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil {
		if d < 0 {
			d = -d
		}
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("--since is not a time: write 24h, 2026-01-31 or 2026-01-31T12:00:00Z")
}
