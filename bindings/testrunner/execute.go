package testrunner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dop251/goja"
)

// testRun is one run of a test.
type testRun struct {
	test *test
	seed uint64
	// fault is the fault to inject into one of its scripts; nil for none.
	fault *fault
	// scriptRuns are the runs of its scripts without a fault.
	scriptRuns []cleanRun
	// otherProblems are problems other than those of the test itself.
	otherProblems []Problem
	// snapshotUses counts the snapshots of the test, by their names.
	snapshotUses map[string]int
}

// cleanRun is one run of a script without a fault.
type cleanRun struct {
	commands   []string // names of the commands that the script sent
	stateAfter balancerState
}

// runSuite runs the tests of a suite and of its inner suites.
func (f *file) runSuite(ctx context.Context, s *suite, from startPoint) {
	if !f.selection.runsAny(s) {
		for _, t := range s.tests() {
			f.addSkipped(t)
		}
		return
	}
	from = from.withOptions(s.clusterOptions)
	from, problem := f.prepareSuite(ctx, s, from)
	for _, n := range s.nodes {
		switch {
		case ctx.Err() != nil:
			return
		case problem != nil:
			f.failAll(n, *problem)
		case n.test != nil:
			f.runTest(ctx, n.test, from)
		default:
			f.runSuite(ctx, n.suite, from)
		}
	}
	if len(s.after) > 0 && problem == nil && !f.options.List {
		f.runAfter(ctx, s, from)
	}
}

// prepareSuite runs the fixtures and before() hooks of a suite. It returns the resulting start point
// for the tests.
func (f *file) prepareSuite(ctx context.Context, s *suite, from startPoint) (startPoint, *Problem) {
	fixtures := from.fixtures(s.clusterOptions)
	if f.options.List || len(fixtures) == 0 && len(s.before) == 0 {
		return from, nil
	}
	var saved string
	err := f.withCluster(ctx, from, f.options.Seed, func(run func(goja.Callable) error) error {
		for _, name := range fixtures {
			if err := f.runFixtureScript(run, name); err != nil {
				return err
			}
		}
		for _, hook := range s.before {
			if err := run(hook); err != nil {
				return err
			}
		}
		var err error
		saved, err = f.saveCluster()
		return err
	})
	if err != nil {
		p := f.problemOf(err)
		p.During = "before"
		return from, p
	}
	from.saved = saved
	return from, nil
}

// runFixtureScript runs a script that prepares the cluster.
func (f *file) runFixtureScript(run func(goja.Callable) error, name string) error {
	return run(func(goja.Value, ...goja.Value) (goja.Value, error) {
		r := f.runScript(scriptRun{name: name})
		if r.exitCode != 0 {
			return nil, fmt.Errorf("fixture %s ended with %d: %s", name, r.exitCode, r.errors)
		}
		return goja.Undefined(), nil
	})
}

// saveCluster writes the state of the cluster to a file.
func (f *file) saveCluster() (string, error) {
	if f.savedStatesDir == "" {
		dir, err := os.MkdirTemp("", "shardsh-test-")
		if err != nil {
			return "", err
		}
		f.savedStatesDir = dir
	}
	path := filepath.Join(f.savedStatesDir, fmt.Sprintf("state%d", time.Now().UnixNano()))
	return path, f.testCluster.cluster.Save(path)
}

// withCluster creates a cluster, runs functions of the file on it in body, and closes it.
func (f *file) withCluster(ctx context.Context, from startPoint, seed uint64,
	body func(run func(goja.Callable) error) error) error {
	w, err := newTestCluster(f.options, from, seed)
	if err != nil {
		return err
	}
	defer w.close()
	f.testCluster = w
	if f.currentRun == nil {
		f.currentRun = &testRun{seed: seed}
		defer func() { f.currentRun = nil }()
	}
	f.shell.Connect(w.client, address)
	defer func() {
		f.shell.Connect(nil, "")
		f.testCluster = nil
	}()
	f.callbacks = newCallbacks(f.shell.JS.Runtime) // a hook may define callbacks for the test
	limit := from.timeout(f.options.Timeout)
	return body(func(hook goja.Callable) error {
		if f.callbacks.isClosed() { // a test or hook before has timed out
			f.callbacks = newCallbacks(f.shell.JS.Runtime)
		}
		bounded, end := f.withTimeout(ctx, limit)
		defer end()
		return f.runFunction(bounded, hook)
	})
}

// runAfter runs the after() hooks of a suite, on a cluster like those of its tests.
func (f *file) runAfter(ctx context.Context, s *suite, from startPoint) {
	err := f.withCluster(ctx, from, f.options.Seed, func(run func(goja.Callable) error) error {
		var errs []error
		for _, hook := range s.after {
			errs = append(errs, run(hook))
		}
		return errors.Join(errs...)
	})
	if err == nil || ctx.Err() != nil {
		return
	}
	p := f.problemOf(err)
	p.During = "after"
	f.results = append(f.results, Result{Suites: s.names(), Name: "after", Status: Failed, Problems: []Problem{*p},
		Release: releaseName(from.clusterOptions.release)})
	f.bailOut()
}

// addSkipped records a test that does not run.
func (f *file) addSkipped(t *test) {
	if !f.selection.includesInReport(t) {
		return
	}
	r := Result{Suites: t.suite.names(), Name: t.name, Status: Skipped, Release: releaseName(f.release)}
	if t.mode == modeTodo {
		r.Status = Todo
	}
	f.results = append(f.results, r)
}

// failAll fails all tests of a node whose suite could not be prepared.
func (f *file) failAll(n node, p Problem) {
	tests := []*test{n.test}
	if n.test == nil {
		tests = n.suite.tests()
	}
	for _, t := range tests {
		if !f.selection.runs(t) {
			f.addSkipped(t)
			continue
		}
		f.results = append(f.results, Result{Suites: t.suite.names(), Name: t.name, Status: Failed,
			Problems: []Problem{p}, Release: releaseName(f.release)})
	}
	f.bailOut()
}

func (f *file) bailOut() {
	if f.options.Bail {
		f.bail()
	}
}
