package chain_test

import (
	"context"
	"fmt"
	"time"

	"backstop/chain"
	"backstop/lead"
	"backstop/providers"
	"backstop/resilience"
)

// A fixed provider gives everybody the same answer.
type fixed struct {
	name   string
	answer providers.Answer
}

func (f fixed) Name() string { return f.name }

func (f fixed) Plan(lead.Lead, []lead.Field) (calls []providers.Call, why string) {
	return []providers.Call{{Endpoint: "find", Do: func(context.Context) providers.Answer { return f.answer }}}, ""
}

// The first provider is down, so that the second one fills the profile.
func ExampleChain_Walk() {
	c := chain.Chain{
		Providers: []providers.Provider{
			fixed{"first", providers.Answer{Class: lead.ClassTransient, Status: 503}},
			fixed{"second", providers.Answer{Class: lead.ClassOK, Status: 200, Profile: lead.Profile{lead.PersonName: "Ann Known"}}},
		},
		Gate:    resilience.NewLocalGate(nil, resilience.LocalOptions{}),
		Want:    []lead.Field{lead.PersonName},
		Retry:   resilience.Retry{Budget: 10 * time.Second}, // no retries
		Pending: chain.DefaultPending,
		Now:     time.Now,
	}
	ann := lead.Lead{Email: "ann@example.com"}
	progress := chain.NewProgress(ann, 1, time.Now())
	verdict, err := c.Walk(context.Background(), ann, progress, chain.Hooks{})
	if err != nil {
		fmt.Println(err)
	}
	for _, e := range verdict.Trail {
		fmt.Println(e.Provider, e.Class, e.Status)
	}
	fmt.Println(verdict.Kind, progress.Facts.Profile[lead.PersonName])
	// Output:
	// first transient 503
	// second ok 200
	// full Ann Known
}
