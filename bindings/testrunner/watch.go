package testrunner

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// WatchHooks are the callbacks of Watch.
type WatchHooks struct {
	// FindFiles returns the current test files.
	FindFiles func() ([]string, error)
	// Wait waits before the files are checked again; its error ends the watch.
	Wait func(ctx context.Context) error
	// OnBegin is called with the files that will run, and OnEnd with the report.
	OnBegin func(files []string)
	OnEnd   func(Report)
}

// Watch runs all tests, and then repeatedly those that depend on a changed file, until ctx ends.
func Watch(ctx context.Context, o Options, w WatchHooks) error {
	watched := &watchedFiles{reads: map[string][]string{}, stamps: map[string]stamp{}}
	for {
		files, err := w.FindFiles()
		if err != nil {
			return err
		}
		if due := watched.changedTests(files); len(due) > 0 {
			w.OnBegin(due)
			o.Files = due
			watched.updateStamps(due)
			report := Run(ctx, o)
			watched.noteReads(report)
			w.OnEnd(report)
		}
		if err := w.Wait(ctx); err != nil {
			return context.Cause(ctx)
		}
	}
}

// stamp distinguishes one state of a file from another; the zero value is that of a missing file.
type stamp struct {
	changed time.Time
	size    int64
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}

// watchedFiles records the files that tests depend on.
type watchedFiles struct {
	reads  map[string][]string // the files that each test file has read
	stamps map[string]stamp
}

// changedTests returns the test files that are new, or depend on a changed file.
func (w *watchedFiles) changedTests(files []string) (list []string) {
	for _, file := range files {
		reads, known := w.reads[file]
		if !known || slices.ContainsFunc(reads, func(path string) bool { return stampOf(path) != w.stamps[path] }) {
			list = append(list, file)
		}
	}
	return list
}

// updateStamps records the state of the files before a run of tests, so that changes during the run
// count. Files that a new test reads are not known yet, except the test itself.
func (w *watchedFiles) updateStamps(tests []string) {
	for _, test := range tests {
		if path, err := filepath.Abs(test); err == nil {
			w.stamps[path] = stamp{}
		}
	}
	for path := range w.stamps {
		w.stamps[path] = stampOf(path)
	}
}

// noteReads records the files that the tests have read.
func (w *watchedFiles) noteReads(r Report) {
	for _, f := range r.Files {
		w.reads[f.Path] = f.FilesRead
		for _, path := range f.FilesRead {
			if _, known := w.stamps[path]; !known {
				w.stamps[path] = stampOf(path)
			}
		}
	}
}
