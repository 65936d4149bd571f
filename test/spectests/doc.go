// Package spectests holds the mock to the specification tests that all drivers of
// MongoDB share, and to the other tests that the Go driver has for a real cluster:
//
//	SPECTESTS=1 go test ./test/spectests
//
// .ci/spectests fetches and builds them. They run against a mock cluster with two
// routers. Those that fail stand in testdata/failures.tsv with the reason: a feature
// that docs/boundary.md says the mock has not, or what else it is. One that fails and
// is not listed fails the run, and so does one that is listed and passes.
//
// Nothing of it is part of the program.
package spectests
