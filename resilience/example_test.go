package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"

	"backstop/lead"
	"backstop/resilience"
)

// A circuit opens after three failures. The next call is not made.
func ExampleDo() {
	gate := resilience.NewLocalGate([]resilience.GateConfig{{Provider: "hunter", Failures: 3}}, resilience.LocalOptions{})
	fails := func(context.Context) resilience.Result {
		return resilience.Result{Class: lead.ClassTransient}
	}
	for range 4 {
		began, err := resilience.Do(context.Background(), gate, "hunter", resilience.Within(time.Second), time.Now, fails)
		fmt.Println("called:", !began.IsZero(), "refused:", errors.Is(err, gobreaker.ErrOpenState))
	}
	circuit := gate.Circuits()[0]
	fmt.Println(circuit.Provider, "is", circuit.State)
	// Output:
	// called: true refused: false
	// called: true refused: false
	// called: true refused: false
	// called: false refused: true
	// hunter is open
}
