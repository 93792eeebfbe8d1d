package app

import (
	"context"

	"backstop/resilience"
)

// Gate makes a replica's gate, and what ends it.
func (a *App) Gate(_ string, hook func(resilience.Transition)) (resilience.Gate, func(context.Context) error, error) {
	g := resilience.NewLocalGate(GateConfigs(a.Config), resilience.LocalOptions{Hook: hook})
	return g, func(context.Context) error { return nil }, nil
}
