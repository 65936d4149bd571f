package testrunner

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Status is the outcome of a test.
type Status string

// What can come of a test.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
	Todo    Status = "todo"
	Listed  Status = "listed" // with Options.List
)

// Result is what came of one test.
type Result struct {
	// Suites are the descriptions around the test, the outermost first.
	Suites []string
	Name   string
	// Release is the one that was asked for; empty for the present one.
	Release string
	Status  Status
	// Problems are why it failed.
	Problems []Problem
	Took     time.Duration
	// Faults is how many faults it was repeated with.
	Faults int
	// Output is what the test itself printed.
	Output string
	// Seed is the seed of the random generator.
	Seed uint64
}

// Title is the whole name of a test.
func (r Result) Title() string { return strings.Join(append(slices.Clone(r.Suites), r.Name), " > ") }

// Problem is one thing that is wrong.
type Problem struct {
	// During says when: in a hook, or with a fault; empty in the test itself.
	During string
	Text   string
	// At is the place, file:line:column, and Line the text there; empty when unknown.
	At, Line string
	Column   int
}

// FileResult is what came of the tests of a file.
type FileResult struct {
	Path  string
	Tests []Result
	// Problem is why the file could not be read; nil when it could.
	Problem *Problem
	// Output is what the file printed besides its tests.
	Output string
	Took   time.Duration
	// Read are the files that the tests have read, as far as they are known.
	Read []string
	// Snapshots counts what became of the snapshots.
	Snapshots SnapshotCounts
}

func (r *FileResult) add(f *file) {
	r.Tests = append(r.Tests, f.results...)
	if r.Problem == nil {
		r.Problem = f.problem
	}
	if f.selection.first {
		r.Output = f.output
	}
	r.Snapshots.add(f.snapshots.counts)
	read := map[string]bool{}
	for _, path := range r.Read {
		read[path] = true
	}
	maps.Copy(read, f.read)
	r.Read = slices.Sorted(maps.Keys(read))
}

// Report is the outcome of a run.
type Report struct {
	Files   []FileResult
	Counts  map[Status]int
	Took    time.Duration
	Stopped bool
	// Snapshots counts those of all files.
	Snapshots SnapshotCounts
	// Coverage is that of each script, where it was asked for.
	Coverage []FileCoverage
}

// count counts the tests. A file that can't be read is one that fails.
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
