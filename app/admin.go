package app

import (
	"context"

	"backstop/monitor"
)

// StartAdmin serves health, metrics and asynqmon at addr.
func (a *App) StartAdmin(addr string, m *monitor.Metrics) (*monitor.Admin, error) {
	return monitor.StartAdmin(monitor.AdminConfig{
		Addr: addr, Metrics: m, Redis: a.Redis, Log: a.Log,
		Checks: []monitor.Check{
			{Name: "ledger", Do: a.Ledger.Ping},
			{Name: "redis", Do: func(ctx context.Context) error { return a.Redis.Ping(ctx).Err() }},
		},
	})
}
