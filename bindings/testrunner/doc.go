// Package testrunner runs tests of maintenance scripts: files with describe, it and expect. Each test
// has its own mock cluster in virtual time.
//
// [Run] runs the files, several at once. It first reads the suites of a file (definitions.go), then
// runs its tests one after another (execute.go). A test gets a cluster (test_cluster.go), and the
// runtime of the file is connected to that cluster. Scripts that the test runs (script.go) get their
// own runtimes. They reach the same cluster through a recorder (recorder.go), which records their
// commands and injects faults between them. The results are plain values (report.go), which
// bindings/testrunner/reporter shows.
package testrunner
