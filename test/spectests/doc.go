// Package spectests runs the specification tests that all MongoDB drivers share, and the Go driver's
// other tests for real clusters, against the mock:
//
//	SPECTESTS=1 go test ./test/spectests
//
// .ci/spectests fetches and builds the tests. They run against a mock cluster with two routers.
// testdata/failures.tsv lists the failing tests with the reason: a feature that the mock does not have
// according to docs/boundary.md, or another one. The run fails if an unlisted test fails or a listed
// test passes.
//
// The program does not use this package.
package spectests
