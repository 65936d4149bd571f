package testrunner

import (
	"context"
	"os"
	"slices"
	"time"
)

// WatchHooks says what Watch does between runs.
type WatchHooks struct {
	// FindFiles lists the test files that there are now.
	FindFiles func() ([]string, error)
	// Wait lets some time pass before the files are looked at again; its error ends
	// the watch.
	Wait func(ctx context.Context) error
	// OnBegin is called with the files that will run, OnEnd with the report.
	OnBegin func(files []string)
	OnEnd   func(Report)
}

// Watch runs all tests, and then again and again those that depend on a file that
// has changed, until ctx ends.
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
			watched.updateStamps()
			report := Run(ctx, o)
			watched.noteReads(report)
			w.OnEnd(report)
		}
		if err := w.Wait(ctx); err != nil {
			return context.Cause(ctx)
		}
	}
}

// stamp distinguishes one state of a file from another; the zero value is of one that is
// not there.
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

// watchedFiles is what is known of the files that tests depend on.
type watchedFiles struct {
	reads  map[string][]string // by test file
	stamps map[string]stamp
}

// changedTests returns the test files that are new, or depend on something that has changed.
func (w *watchedFiles) changedTests(files []string) (list []string) {
	for _, file := range files {
		reads, known := w.reads[file]
		if !known || slices.ContainsFunc(reads, func(path string) bool { return stampOf(path) != w.stamps[path] }) {
			list = append(list, file)
		}
	}
	return list
}

// updateStamps records the state of the files before a run, so that changes during it count.
func (w *watchedFiles) updateStamps() {
	for path := range w.stamps {
		w.stamps[path] = stampOf(path)
	}
}

// noteReads notes what the tests have read.
func (w *watchedFiles) noteReads(r Report) {
	for _, f := range r.Files {
		w.reads[f.Path] = f.Read
		for _, path := range f.Read {
			if _, known := w.stamps[path]; !known {
				w.stamps[path] = stampOf(path)
			}
		}
	}
}
