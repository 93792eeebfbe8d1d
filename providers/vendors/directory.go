package vendors

import (
	"context"
	"time"

	"backstop/lead"
	"backstop/providers"
	"backstop/providers/profile"
)

// A LookUp reads the in-house directory: what it knows of the person with the
// address and when that was true. found is false when it knows nothing.
type LookUp = func(ctx context.Context, email string) (p lead.Profile, asOf time.Time, found bool, err error)

type directory struct{ look LookUp }

// NewDirectory is the in-house directory. It can be asked only about leads with
// an email address.
func NewDirectory(look LookUp) providers.Provider { return &directory{look} }

func (d *directory) Name() string { return "directory" }

func (d *directory) Plan(l lead.Lead, missing []lead.Field) ([]providers.Call, string) {
	if l.Email == "" {
		return nil, profile.NoEmail
	}
	if len(missing) == 0 {
		return nil, profile.NothingToAdd
	}
	// Without a Subject: the directory costs nothing and changes at any time.
	return []providers.Call{{Endpoint: "look-up", Do: func(ctx context.Context) providers.Answer { return d.ask(ctx, l.Email) }}}, ""
}

func (d *directory) ask(ctx context.Context, email string) providers.Answer {
	p, asOf, found, err := d.look(ctx, email)
	switch {
	case err != nil && ctx.Err() == context.Canceled:
		return providers.Answer{Detail: "cancelled"}
	case err != nil && ctx.Err() != nil:
		return providers.Answer{Class: lead.ClassTransient, Detail: "time-out reading the directory"}
	case err != nil: // not quoted: it may hold what was looked for
		return providers.Answer{Class: lead.ClassTransient, Detail: "the directory cannot be read"}
	case !found || len(p) == 0:
		return providers.Answer{Class: lead.ClassNoData, Detail: "not in the directory"}
	}
	return providers.Answer{Class: lead.ClassOK, Profile: p, AsOf: asOf}
}
