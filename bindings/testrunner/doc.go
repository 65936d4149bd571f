// Package testrunner runs tests of maintenance scripts: files with describe, it and
// expect, each test on a mock cluster of its own in virtual time.
//
// A [Run] goes through the files, several at once. Of each file (file.go) the suites
// are read first (definitions.go), then its tests run one after the other (execute.go):
// a test gets a cluster (test_cluster.go), the runtime of the file is connected to it, and
// scripts that it runs (script.go) get runtimes of their own, which reach the same
// cluster through a recorder (recorder.go) that records their commands and lets faults happen
// between them. What came of it are plain values (report.go), which
// bindings/testrunner/reporter shows.
package testrunner
