package testrunner

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/dop251/goja"

	"shardsh/balancer/catalog"
	"shardsh/bindings"
	"shardsh/bindings/expect"
	"shardsh/bindings/script"
)

// file is one test file on one release, with its runtime and its state.
type file struct {
	options *Options
	path    string
	release catalog.Release // the zero value if no release was requested
	bail    func()

	shell          *bindings.Shell
	printed        bytes.Buffer
	loadOutput     string // output while the file was read
	savedStatesDir string // directory for saved states; empty until it is created

	definitions *definitions
	selection   selection

	// The state of the running test:
	testCluster *testCluster
	currentRun  *testRun
	callbacks   *callbacks
	// clusterObject is the object cluster; nil until its first use.
	clusterObject *goja.Object

	results   []Result
	problem   *Problem
	filesRead map[string]bool
	snapshots *snapshots
}

func newFile(o *Options, path string, release catalog.Release, firstRelease bool) *file {
	f := &file{options: o, path: path, release: release, filesRead: map[string]bool{},
		selection: selection{filter: o.Filter, firstRelease: firstRelease}}
	f.noteFileRead(path)
	f.snapshots = newSnapshots(path, o.Snapshots)
	return f
}

// noteFileRead records that the tests depend on a file.
func (f *file) noteFileRead(path string) {
	if abs, err := filepath.Abs(path); err == nil {
		f.filesRead[abs] = true
	}
}

// clock is the clock of the file's current cluster.
type clock struct{ f *file }

// Now returns the cluster's time, or that of a new cluster if there is none.
func (c clock) Now() time.Time {
	if c.f.testCluster == nil {
		return startTime()
	}
	return c.f.testCluster.cluster.Clock().Now()
}

// Sleep advances the cluster's time.
func (c clock) Sleep(ctx context.Context, d time.Duration) error {
	if c.f.testCluster == nil {
		return ctx.Err()
	}
	return c.f.testCluster.cluster.Clock().Sleep(ctx, d)
}

// run reads the file and runs its tests.
func (f *file) run(ctx context.Context) {
	defer f.cleanUp()
	if err := f.startShell(); err != nil {
		f.problem = f.problemOf(err)
		return
	}
	f.callbacks = newCallbacks(f.shell.JS.Runtime)
	bounded, end := f.withTimeout(ctx, f.options.Timeout)
	_, err := f.shell.RunFile(bounded, f.path)
	end()
	f.definitions.current = nil
	f.loadOutput = f.takeOutput()
	if err != nil {
		if ctx.Err() == nil {
			f.problem = f.problemOf(err)
		}
		return
	}
	root := f.definitions.root
	for _, t := range root.tests() {
		f.selection.only = f.selection.only || t.hasMode(modeOnly)
	}
	f.runSuite(ctx, root, startPoint{clusterOptions: &clusterOptions{release: f.release}, release: f.release})
	if f.problem == nil {
		f.problem = f.snapshots.finish(f.allTestsPassed(ctx))
	}
}

// allTestsPassed reports whether every test of the file has passed, so that a snapshot that no test
// used is obsolete.
func (f *file) allTestsPassed(ctx context.Context) bool {
	if ctx.Err() != nil || f.options.Filter != nil || f.options.List {
		return false
	}
	for _, t := range f.definitions.root.tests() {
		if !f.selection.includesInReport(t) { // it runs on another release
			return false
		}
	}
	for _, r := range f.results {
		if r.Status != Passed {
			return false
		}
	}
	return true
}

// startShell creates the runtime of the file.
func (f *file) startShell() error {
	var err error
	f.shell, err = bindings.New(bindings.Config{
		Address: address, Deployment: "test", Clock: clock{f}, Stdout: &f.printed, Stderr: &f.printed,
		Stdin: bytes.NewReader(nil), Executable: f.options.Executable, Version: f.options.Version,
		Scripts: f.options.Scripts, OnStuck: f.options.OnStuck, ParseURI: f.clientOptions(testHost),
		OnLoad: f.noteFileRead,
	})
	if err != nil {
		return err
	}
	f.definitions = newDefinitions(f.shell.JS, f.path, f.noteFileRead)
	f.definitions.defineGlobals()
	f.defineCluster()
	f.defineRun()
	expect.Define(f.shell.JS, expect.Options{Matchers: append(f.clusterMatchers(), f.snapshotMatcher())})
	return nil
}

// cleanUp closes the runtime and removes its temporary files.
func (f *file) cleanUp() {
	if f.shell != nil {
		_ = f.shell.Close(context.Background())
	}
	if f.savedStatesDir != "" {
		_ = os.RemoveAll(f.savedStatesDir)
	}
}

// takeOutput returns the output since the last call.
func (f *file) takeOutput() string {
	text := f.printed.String()
	f.printed.Reset()
	return text
}

// problemOf describes an error of JavaScript, or of the runner.
func (f *file) problemOf(err error) *Problem {
	p := &Problem{}
	var quit *script.ExitError
	var thrown *script.Error
	switch {
	case errors.As(err, &quit):
		p.Text = "the test ended the program: quit() and process.exit() are for the scripts that run() runs"
	case errors.As(err, &thrown):
		p.Text, p.At, p.Line, p.Column = thrown.Text(), thrown.Position(), thrown.SourceLine, thrown.Column
		if expect.IsFailure(err) {
			p.Text = thrown.ShownMessage()
		}
	default:
		p.Text = err.Error()
	}
	return p
}

// runFunction runs JavaScript of the file until its promises are settled.
func (f *file) runFunction(ctx context.Context, body goja.Callable) error {
	_, err := f.shell.JS.RunProtected(ctx, func() (goja.Value, error) {
		v, err := body(goja.Undefined())
		if err == nil {
			v, err = f.shell.JS.AwaitResult(v)
		}
		if failed := f.callbacks.takeFailure(); err == nil {
			err = failed
		}
		return v, err
	})
	return err
}
