package testrunner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dop251/goja"

	"shardsh/balancer/catalog"
)

// startPoint is where the clusters of a suite begin.
type startPoint struct {
	start *clusterOptions
	// saved is a file with what before() made of it; empty for nothing.
	saved string
}

// attempt is one run of a test.
type attempt struct {
	test *test
	seed uint64
	// fault is what happens to one of its scripts; nil for nothing.
	fault *fault
	// sent is how many commands each of its scripts has sent.
	sent [][]string
	// notes are what is wrong besides what the test says.
	notes []Problem
	// asked counts the snapshots of the test, by their names.
	asked map[string]int
}

// runSuite runs the tests of a suite and of those inside.
func (f *file) runSuite(ctx context.Context, s *suite, from startPoint) {
	if !f.wantsAny(s) {
		for _, t := range s.tests() {
			f.pass(t)
		}
		return
	}
	from = f.enter(s, from)
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

// enter returns where a suite begins, by its options.
func (f *file) enter(s *suite, from startPoint) startPoint {
	switch {
	case s.start == nil:
	case s.start.fresh:
		from = startPoint{start: f.released(s.start)}
	default:
		from.start = f.released(s.start)
	}
	return from
}

// released returns a start on the release that was asked for, where it names none.
func (f *file) released(s *clusterOptions) *clusterOptions {
	if s.release == (catalog.Release{}) {
		own := *s
		own.release = f.release
		return &own
	}
	return s
}

// prepareSuite builds what the tests of a suite share: its fixtures and before(). It
// returns where they begin then.
func (f *file) prepareSuite(ctx context.Context, s *suite, from startPoint) (startPoint, *Problem) {
	fixtures := f.fixturesOf(s.start, from)
	if f.options.List || len(fixtures) == 0 && len(s.before) == 0 {
		return from, nil
	}
	var saved string
	err := f.onCluster(ctx, from, f.options.Seed, func(run func(goja.Callable) error) error {
		for _, name := range fixtures {
			if err := f.runFixture(run, name); err != nil {
				return err
			}
		}
		for _, hook := range s.before {
			if err := run(hook); err != nil {
				return err
			}
		}
		var err error
		saved, err = f.save()
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

// fixturesOf returns the scripts that are still to furnish a cluster.
func (f *file) fixturesOf(s *clusterOptions, from startPoint) []string {
	switch {
	case s == nil:
		return nil
	case from.saved == "":
		return s.fixtures
	case s.fixture != "":
		return []string{s.fixture}
	}
	return nil
}

// runFixture runs a script that furnishes the cluster.
func (f *file) runFixture(run func(goja.Callable) error, name string) error {
	return run(func(goja.Value, ...goja.Value) (goja.Value, error) {
		r := f.runScript(scriptRun{name: name})
		if r.exitCode != 0 {
			return nil, fmt.Errorf("fixture %s ended with %d: %s", name, r.exitCode, r.errors)
		}
		return goja.Undefined(), nil
	})
}

// save writes the state of the cluster to a file.
func (f *file) save() (string, error) {
	if f.dir == "" {
		dir, err := os.MkdirTemp("", "shardsh-test-")
		if err != nil {
			return "", err
		}
		f.dir = dir
	}
	path := filepath.Join(f.dir, fmt.Sprintf("state%d", time.Now().UnixNano()))
	return path, f.testCluster.cluster.Save(path)
}

// onCluster makes a cluster, has body run functions of the file on it, and ends it.
func (f *file) onCluster(ctx context.Context, from startPoint, seed uint64, body func(run func(goja.Callable) error) error,
) error {
	w, err := newTestCluster(f.options, from, seed)
	if err != nil {
		return err
	}
	defer w.close()
	f.testCluster = w
	if f.attempt == nil {
		f.attempt = &attempt{seed: seed}
		defer func() { f.attempt = nil }()
	}
	f.shell.Connect(w.client, address)
	defer func() {
		f.shell.Connect(nil, "")
		f.testCluster = nil
	}()
	limit := f.limit(from)
	return body(func(hook goja.Callable) error {
		f.callbacks = newCallbacks(f.shell.JS.Runtime)
		bounded, end := f.bounded(ctx, limit)
		defer end()
		return f.within(bounded, hook)
	})
}

// limit returns how much real time functions of a test may take.
func (f *file) limit(from startPoint) time.Duration {
	if from.start.timeout > 0 {
		return time.Duration(from.start.timeout) * time.Millisecond
	}
	return f.options.Timeout
}

// runAfter runs the after() hooks of a suite, on a cluster as its tests got.
func (f *file) runAfter(ctx context.Context, s *suite, from startPoint) {
	err := f.onCluster(ctx, from, f.options.Seed, func(run func(goja.Callable) error) error {
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
		Release: f.releaseName(from.start)})
	f.bailOut()
}

// wants reports whether a test is to run.
func (f *file) wants(t *test) bool {
	switch {
	case t.is(modeSkip), t.mode == modeTodo, f.onlySet && !t.is(modeOnly):
		return false
	case !f.first && t.pinned(): // runs on the release of its own, once
		return false
	}
	return f.matches(t)
}

// matches reports whether the filter lets a test run.
func (f *file) matches(t *test) bool {
	return f.options.Filter == nil || f.options.Filter.MatchString(t.title())
}

// pinned reports whether a test names the release that it runs on.
func (t *test) pinned() bool {
	if t.start != nil {
		return t.start.release != (catalog.Release{})
	}
	for s := t.suite; s != nil; s = s.parent {
		if s.start != nil {
			return s.start.release != (catalog.Release{})
		}
	}
	return false
}

func (f *file) wantsAny(s *suite) bool {
	for _, t := range s.tests() {
		if f.wants(t) {
			return true
		}
	}
	return false
}

// pass notes a test that does not run.
func (f *file) pass(t *test) {
	if !f.matches(t) || !f.first && t.pinned() {
		return
	}
	r := Result{Suites: t.suite.names(), Name: t.name, Status: Skipped, Release: f.releaseName(&clusterOptions{release: f.release})}
	if t.mode == modeTodo {
		r.Status = Todo
	}
	f.results = append(f.results, r)
}

// failAll fails what can't run, as what it shares could not be built.
func (f *file) failAll(n node, p Problem) {
	tests := []*test{n.test}
	if n.test == nil {
		tests = n.suite.tests()
	}
	for _, t := range tests {
		if !f.wants(t) {
			f.pass(t)
			continue
		}
		f.results = append(f.results, Result{Suites: t.suite.names(), Name: t.name, Status: Failed,
			Problems: []Problem{p}, Release: f.releaseName(&clusterOptions{release: f.release})})
	}
	f.bailOut()
}

func (f *file) bailOut() {
	if f.options.Bail {
		f.bail()
	}
}
