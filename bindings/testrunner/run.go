package testrunner

import (
	"cmp"
	"context"
	"io/fs"
	"regexp"
	"sync"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
)

// Options are the options of a test run.
type Options struct {
	// Files are the test files, with the names for the report.
	Files []string
	// Filter is matched against the full names of tests; nil runs all.
	Filter *regexp.Regexp
	// Seed seeds the random generator; each repetition uses the next seed.
	Seed uint64
	// Repeat is how often each test runs; once when it is zero.
	Repeat int
	// Releases are the releases on which each test runs; empty means the default release.
	Releases []catalog.Release
	// EveryFault repeats tests with a fault at each command of their scripts.
	EveryFault bool
	// Bail stops at the first test that fails.
	Bail bool
	// List names the tests and runs none.
	List bool
	// Snapshots says how to handle snapshots that differ or are missing.
	Snapshots SnapshotMode
	// Jobs is the number of files that run concurrently; zero means one.
	Jobs int
	// Timeout is the limit of real time for a test; zero means 10 s.
	Timeout time.Duration
	// Coverage records the lines of scripts that ran; nil records none.
	Coverage *Coverage

	// Scripts are the scripts that load("shardsh:name") finds.
	Scripts fs.FS
	// Version and Executable describe the program to scripts.
	Version, Executable string
	// ErrorText formats an error that ends a script.
	ErrorText func(error) string
	// LoadClusterSnapshot configures a mock to start with the cluster in a file.
	LoadClusterSnapshot func(cfg *mock.Config, path string) error
	// OnStuck is called for a script that can't be stopped.
	OnStuck func(cause error)

	// OnTest is called with the running test, and again for each fault, from several goroutines. It may
	// be nil.
	OnTest func(file, test string, faults int)
	// OnFile is called with the result of each file, in the order of Files. It may be nil.
	OnFile func(FileResult)
}

// defaultTimeout is the default limit of real time for a test.
const defaultTimeout = 10 * time.Second

func (o *Options) setDefaults() {
	o.Repeat, o.Jobs = max(o.Repeat, 1), max(o.Jobs, 1)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	if len(o.Releases) == 0 {
		o.Releases = []catalog.Release{{}}
	}
	if o.OnTest == nil {
		o.OnTest = func(string, string, int) {}
	}
	if o.OnFile == nil {
		o.OnFile = func(FileResult) {}
	}
	if o.ErrorText == nil {
		o.ErrorText = func(err error) string { return err.Error() }
	}
}

// Run runs the files and returns their results, in order. If ctx ends, the results of tests that have
// not run are missing.
func Run(ctx context.Context, o Options) Report {
	o.setDefaults()
	started := time.Now()
	running, bail := context.WithCancel(ctx)
	defer bail()
	r := &scheduler{options: &o, bail: bail, finished: make(map[int]FileResult)}
	var workers sync.WaitGroup
	next := make(chan int)
	for range min(o.Jobs, max(1, len(o.Files))) {
		workers.Go(func() {
			for i := range next {
				r.finish(i, r.runFile(running, o.Files[i]))
			}
		})
	}
	for i := range o.Files {
		if running.Err() != nil {
			break
		}
		select {
		case next <- i:
		case <-running.Done():
		}
	}
	close(next)
	workers.Wait()
	report := Report{Files: r.results, Took: time.Since(started), Stopped: ctx.Err() != nil,
		Coverage: o.Coverage.Files()}
	report.count()
	return report
}

// scheduler runs all files of a test run.
type scheduler struct {
	options *Options
	bail    func()

	mu           sync.Mutex
	finished     map[int]FileResult // finished, but not reported yet
	results      []FileResult
	nextToReport int // index of the next file to report
}

// finish reports a file, and the finished files that waited for it.
func (s *scheduler) finish(i int, f FileResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished[i] = f
	for {
		f, ok := s.finished[s.nextToReport]
		if !ok {
			return
		}
		delete(s.finished, s.nextToReport)
		s.nextToReport++
		s.results = append(s.results, f)
		s.options.OnFile(f)
	}
}

// runFile runs the tests of one file on each release.
func (s *scheduler) runFile(ctx context.Context, path string) FileResult {
	started := time.Now()
	result := FileResult{Path: path}
	for i, release := range s.options.Releases {
		if ctx.Err() != nil {
			break
		}
		f := newFile(s.options, path, release, i == 0)
		f.bail = s.bail
		f.run(ctx)
		result.add(f)
	}
	result.Took = time.Since(started)
	return result
}
