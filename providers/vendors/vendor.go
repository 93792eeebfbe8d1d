// Package vendors has the APIs that are asked with code of their own, one file each: how an
// API is asked, how it answers, and which [lead.Class] each of its answers has. The tables
// are per vendor, because no status means the same everywhere: 403 is a rate limit at
// Hunter and a refused key elsewhere, and a 2xx is not success by itself. docs/providers.md
// has them all with their sources.
//
// [New] makes any provider that a configuration may name, those with a shipped description
// (package described) included.
package vendors

import "backstop/providers/httpjson"

// A vendor is what every one of them is built on.
type vendor struct{ httpjson.API }

func newVendor(o httpjson.Options, baseURL string) vendor { return vendor{httpjson.New(o, baseURL)} }
