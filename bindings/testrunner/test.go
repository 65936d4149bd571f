package testrunner

import (
	"context"
	"time"

	"github.com/dop251/goja"
)

// runTest runs one test with its repetitions, and records the result.
func (f *file) runTest(ctx context.Context, t *test, from startPoint) {
	if !f.selection.runs(t) {
		f.addSkipped(t)
		return
	}
	own := from.withOptions(t.clusterOptions)
	r := Result{Suites: t.suite.names(), Name: t.name, Release: releaseName(own.clusterOptions.release), Status: Passed}
	if f.options.List {
		r.Status = Listed
		f.results = append(f.results, r)
		return
	}
	began := time.Now()
	f.options.OnTest(f.path, t.title(), 0)
	for i := range f.options.Repeat {
		if ctx.Err() != nil {
			return
		}
		r.Seed = f.options.Seed + uint64(i)
		a := &testRun{test: t, seed: r.Seed}
		r.Problems = f.runOnce(ctx, a, own)
		if len(r.Problems) == 0 && f.options.EveryFault && !t.skipsFaults() {
			r.Problems = f.tryFaults(ctx, a, own, &r.Faults)
		}
		if len(r.Problems) > 0 {
			break
		}
	}
	if ctx.Err() != nil {
		return
	}
	r.Took, r.Output = time.Since(began), f.takeOutput()
	if len(r.Problems) > 0 {
		r.Status = Failed
		f.bailOut()
	}
	f.results = append(f.results, r)
}

// runOnce runs a test once and returns its problems.
func (f *file) runOnce(ctx context.Context, a *testRun, from startPoint) (problems []Problem) {
	f.currentRun = a
	defer func() { f.currentRun = nil }()
	note := func(during string, err error) {
		if err != nil {
			p := f.problemOf(err)
			p.During = during
			problems = append(problems, *p)
		}
	}
	note("", f.withCluster(ctx, from, a.seed, func(run func(goja.Callable) error) error {
		var err error
		during := ""
		if a.test.clusterOptions != nil {
			for _, name := range from.fixtures(a.test.clusterOptions) {
				if err == nil {
					err = f.runFixtureScript(run, name)
				}
			}
		}
		f.testCluster.scriptRuns = 0
		for _, hook := range a.test.suite.hooks(func(s *suite) []goja.Callable { return s.beforeEach }, true) {
			if err != nil {
				break
			}
			during, err = "beforeEach", run(hook)
		}
		if err == nil {
			during, err = "", run(a.test.run)
		}
		note(during, err)
		if err == nil && a.fault == nil {
			f.reportPending()
		}
		for _, hook := range a.test.suite.hooks(func(s *suite) []goja.Callable { return s.afterEach }, false) {
			note("afterEach", run(hook))
		}
		return nil
	}))
	return append(a.otherProblems, problems...)
}
