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

// Options say what to run, and how.
type Options struct {
	// Files are the test files, as they are to be called.
	Files []string
	// Filter is matched against the full names of tests; nil runs all.
	Filter *regexp.Regexp
	// Seed seeds the random generator; each repetition uses the next seed.
	Seed uint64
	// Repeat is how often each test runs; once when it is zero.
	Repeat int
	// Releases are those that each test runs on; the present one when there is none.
	Releases []catalog.Release
	// EveryFault repeats tests with a fault at each command of their scripts.
	EveryFault bool
	// Bail stops at the first test that fails.
	Bail bool
	// List names the tests and runs none.
	List bool
	// Snapshots says what becomes of snapshots that differ, or are not there.
	Snapshots SnapshotMode
	// Jobs is how many files run at once; one when it is zero.
	Jobs int
	// Timeout is how much real time a test may take; 10 s when it is zero.
	Timeout time.Duration
	// Coverage counts the lines of scripts that ran; nil counts none.
	Coverage *Coverage

	// Scripts are those that "shardsh:name" finds.
	Scripts fs.FS
	// Version and Executable are what scripts learn of the program.
	Version, Executable string
	// ErrorText is what the program says of an error that ends a script.
	ErrorText func(error) string
	// LoadSnapshot has a mock begin with the cluster in a file.
	LoadSnapshot func(cfg *mock.Config, path string) error
	// OnStuck is called for a script that nothing can stop.
	OnStuck func(cause error)

	// OnTest is called with the test that runs, and again for each fault, by several
	// goroutines. It may be nil.
	OnTest func(file, test string, faults int)
	// OnFile is called with the result of each file, in the order of Files. It may be nil.
	OnFile func(FileResult)
}

// defaultTimeout is how much real time a test may take where no limit is given.
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

// Run runs the files and returns their results, in order. The end of ctx
// stops it: what has not run then is missing.
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

// scheduler is one run through all files.
type scheduler struct {
	options *Options
	bail    func()

	mu           sync.Mutex
	finished     map[int]FileResult // that wait for those before them
	results      []FileResult
	nextToReport int // index of the next to tell of
}

// finish reports a file, and those that waited for it.
func (r *scheduler) finish(i int, f FileResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished[i] = f
	for {
		f, ok := r.finished[r.nextToReport]
		if !ok {
			return
		}
		delete(r.finished, r.nextToReport)
		r.nextToReport++
		r.results = append(r.results, f)
		r.options.OnFile(f)
	}
}

// runFile runs the tests of one file on each release.
func (r *scheduler) runFile(ctx context.Context, path string) FileResult {
	started := time.Now()
	result := FileResult{Path: path}
	for i, release := range r.options.Releases {
		if ctx.Err() != nil {
			break
		}
		f := newFile(r.options, path, release, i == 0)
		f.bail = r.bail
		f.run(ctx)
		result.add(f)
	}
	result.Took = time.Since(started)
	return result
}
