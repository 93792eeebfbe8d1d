// Package httpjson is how providers are asked over HTTP: one hardened request for each call
// ([API]), and a JSON reader with bounds ([Node]). A server can neither hold a call beyond its
// deadline nor make it use more memory than its bound, whatever it sends.
//
//	http.go     one request and its whole answer
//	client.go   the client that all providers of a process share
//	status.go   what a status means where the API's own table is silent
//	wait.go     how long the headers ask to be left alone
//	json.go     the body as a tree of nodes
//	failure.go  what went wrong, in words that hold no data
//	snippet.go  what a page that is no JSON says, in words that are known to be harmless
package httpjson
