// Package sandbox imitates the APIs of all providers that come with the program
// ([Providers]) over real HTTP on the loopback interface, with their quirks and with
// faults on script.
//
// One listener serves every provider under a path prefix of its own, so that
// base_url is http://127.0.0.1:PORT/clearbit, …/hunter and so on. What is promised:
//
//   - Everything that an answer depends on (who a person is, whether a provider
//     knows them, how long it takes, whom a fault hits) follows from the script,
//     its seed and the address asked about. Nothing is random.
//   - The rate limit of a provider is a sliding window without tolerance: of all
//     calls that it let through, no more than Rate arrived in any window of the
//     length Per.
//   - The books count every request at its arrival, also those that were dropped
//     or never answered, and hold no address.
//
// The people and companies are invented; company domains end in .example, which
// belongs to nobody (RFC 2606).
//
// On the same listener GET /books gives the books as JSON and POST /reset empties
// them and begins the time of the script again.
package sandbox
