package ledger_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"backstop/lead"
	"backstop/ledger"
)

// BenchmarkSettle settles leads one after the other, by one caller and by 64. The
// ratio of the two is what the group commit is worth.
func BenchmarkSettle(b *testing.B) {
	for name, newURL := range databases {
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", name, callers), func(b *testing.B) {
				l := open(b, newURL(b), ledger.Options{})
				var leads []lead.Lead
				for i := range b.N {
					leads = append(leads, numbered(i))
				}
				accepted, err := l.Accept(b.Context(), leads)
				if err != nil {
					b.Fatal(err)
				}
				b.ResetTimer()
				var next atomic.Int64
				var wg sync.WaitGroup
				for range callers {
					wg.Go(func() {
						for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
							if _, err := l.Settle(b.Context(), settled(accepted[i].LeadID)); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "settles/s")
			})
		}
	}
}

// BenchmarkAccept accepts leads in batches of 500.
func BenchmarkAccept(b *testing.B) {
	for name, newURL := range databases {
		b.Run(name, func(b *testing.B) {
			l := open(b, newURL(b), ledger.Options{})
			b.ResetTimer()
			for i := range b.N {
				var leads []lead.Lead
				for k := range 500 {
					leads = append(leads, numbered(i*500+k))
				}
				if _, err := l.Accept(b.Context(), leads); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(500*float64(b.N)/b.Elapsed().Seconds(), "leads/s")
		})
	}
}
