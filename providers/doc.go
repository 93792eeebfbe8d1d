// Package providers asks the enrichment APIs.
//
// One file holds one API: how it is asked, how it answers, and which
// [lead.Class] each of its answers has. The tables are per provider, because no
// status means the same everywhere: 403 is a rate limit at Hunter and a refused
// key elsewhere, and a 2xx is not success by itself. docs/providers.md has them
// all with their sources.
//
// A provider makes exactly one request for a [Call] and returns an [Answer] in
// every case. (Hunter's is asked a second, free one, for the date on which a plan that
// is used up is renewed.) Retries, waiting and circuits are decided above it.
package providers
