package testrunner

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Status is the outcome of a test.
type Status string

// The outcomes of a test.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
	Todo    Status = "todo"
	Listed  Status = "listed" // with Options.List
)

// Result is the result of one test.
type Result struct {
	// Suites are the descriptions of the enclosing suites, the outermost first.
	Suites []string
	Name   string
	// Release is the requested release; empty for the default one.
	Release string
	Status  Status
	// Problems are the reasons of a failure.
	Problems []Problem
	Took     time.Duration
	// Faults is the number of faults with which the test was repeated.
	Faults int
	// Output is what the test itself printed.
	Output string
	// Seed is the seed of the random generator.
	Seed uint64
}

// Title returns the full name of a test.
func (r Result) Title() string { return strings.Join(append(slices.Clone(r.Suites), r.Name), " > ") }

// Problem is one reason of a failure.
type Problem struct {
	// During says when the problem occurred: in a hook, or with a fault; empty for the test itself.
	During string
	Text   string
	// At is the position, file:line:column, and Line is the source line; empty when they are unknown.
	At, Line string
	Column   int
}

// FileResult is the result of a test file.
type FileResult struct {
	Path  string
	Tests []Result
	// Problem is why the file could not be read; nil when it could.
	Problem *Problem
	// Output is what the file printed besides its tests.
	Output string
	Took   time.Duration
	// FilesRead are the files that the tests have read, as far as they are known.
	FilesRead []string
	// Snapshots counts the snapshots by outcome.
	Snapshots SnapshotCounts
}

func (r *FileResult) add(f *file) {
	r.Tests = append(r.Tests, f.results...)
	if r.Problem == nil {
		r.Problem = f.problem
	}
	if f.selection.firstRelease {
		r.Output = f.loadOutput
	}
	r.Snapshots.add(f.snapshots.counts)
	read := map[string]bool{}
	for _, path := range r.FilesRead {
		read[path] = true
	}
	maps.Copy(read, f.filesRead)
	r.FilesRead = slices.Sorted(maps.Keys(read))
}

// Report is the outcome of a run.
type Report struct {
	Files   []FileResult
	Counts  map[Status]int
	Took    time.Duration
	Stopped bool
	// Snapshots counts the snapshots of all files by outcome.
	Snapshots SnapshotCounts
	// Coverage is the coverage of each script, if it was requested.
	Coverage []FileCoverage
}

// count counts the tests by outcome. A file that can't be read counts as a failure.
func (r *Report) count() {
	r.Counts = map[Status]int{}
	for _, f := range r.Files {
		if f.Problem != nil {
			r.Counts[Failed]++
		}
		for _, t := range f.Tests {
			r.Counts[t.Status]++
		}
		r.Snapshots.add(f.Snapshots)
	}
}
