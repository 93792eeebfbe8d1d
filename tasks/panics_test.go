package tasks_test

import (
	"context"

	"backstop/lead"
	"backstop/providers"
)

// panics is a provider with a fault in its client.
type panics struct{ providers.Provider }

func (p *panics) Plan(l lead.Lead, _ []lead.Field) ([]providers.Call, string) {
	return []providers.Call{{Endpoint: "find", Do: func(context.Context) providers.Answer { panic(l.Email) }}}, ""
}
