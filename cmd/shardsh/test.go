package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/safefile"
	"shardsh/bindings/testrunner"
	"shardsh/bindings/testrunner/reporter"
	"shardsh/cmd/shardsh/buildinfo"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/metadata"
	"shardsh/cmd/shardsh/secret"
	"shardsh/scripts"
)

// testFlags are the flags of "shardsh test".
type testFlags struct {
	filter     string
	releases   []string
	reporter   string
	outFile    string
	update     bool
	coverage   bool
	watch      bool
	lcov       string
	printTypes bool

	paths []string
	testrunner.Options
}

func (o *testFlags) groups() []cmdline.Group {
	return []cmdline.Group{
		cmdline.NewGroup("Which tests", func(f *pflag.FlagSet) {
			f.StringVar(&o.filter, "filter", "", "`REGEX` run only tests whose name matches: 'suite > test'")
			f.BoolVar(&o.List, "list", false, "list the tests, and run none")
			f.StringSliceVar(&o.releases, "server-version", nil, "`5.0,8.0` run each test on each of these releases")
		}),
		cmdline.NewGroup("How", func(f *pflag.FlagSet) {
			f.BoolVar(&o.EveryFault, "every-fault", false, "run each script again with a fault at each of its commands")
			f.IntVar(&o.Repeat, "repeat", 1, "`N` run each test N times, each time with another seed")
			f.Uint64Var(&o.Seed, "seed", 0, "`N` random seed")
			f.BoolVar(&o.Bail, "bail", false, "stop at the first test that fails")
			f.IntVar(&o.Jobs, "jobs", runtime.NumCPU(), "`N` run N files in parallel")
			f.BoolVar(&o.watch, "watch", false, "run again whenever a file changes that a test depends on")
			cmdline.DurationVar(f, &o.Timeout, "test-timeout", "`TIME` time limit of a test (10s)")
			f.BoolVar(&o.update, "update-snapshots", false, "write the present results to the snapshots")
		}),
		cmdline.NewGroup("What to show", func(f *pflag.FlagSet) {
			f.StringVar(&o.reporter, "reporter", "text", "`text|junit|json` format of the report")
			f.StringVarP(&o.outFile, "out-file", "o", "", "`FILE` write the report to this file, and text to standard output")
			f.BoolVar(&o.coverage, "coverage", false, "print which lines of the scripts ran")
			f.StringVar(&o.lcov, "lcov", "", "`FILE` write the coverage to this file, in lcov format")
			f.BoolVar(&o.printTypes, "types", false, "print TypeScript types of the test API, and run none")
		}),
	}
}

// parseArgs validates and parses the options.
func (o *testFlags) parseArgs(env environment, words []string) (err error) {
	if o.printTypes {
		return nil
	}
	o.paths = words
	if o.filter != "" {
		if o.Filter, err = regexp.Compile(o.filter); err != nil {
			return usagef("--filter: %w", err)
		}
	}
	for _, text := range o.releases {
		release, err := catalog.ParseRelease(strings.TrimSpace(text))
		if err != nil {
			return usagef("--server-version: %w", err)
		}
		o.Releases = append(o.Releases, release)
	}
	if o.Repeat < 1 {
		return usagef("--repeat takes a number from 1 on, not %d", o.Repeat)
	}
	if o.Jobs < 1 {
		return usagef("--jobs takes a number from 1 on, not %d", o.Jobs)
	}
	if _, known := reporters()[o.reporter]; !known && o.reporter != "text" {
		return usagef("--reporter takes text, junit or json, not %q", o.reporter)
	}
	if o.reporter == "text" && o.outFile != "" {
		return usagef("--out-file needs --reporter junit or json: text goes to standard output")
	}
	if o.watch && (o.reporter != "text" || o.List || o.coverage || o.lcov != "") {
		return usagef("--watch excludes --reporter, --list, --coverage and --lcov")
	}
	if o.coverage || o.lcov != "" {
		o.Coverage = testrunner.NewCoverage()
	}
	ci, _ := env.getenv("CI")
	switch {
	case o.update:
		o.Snapshots = testrunner.WriteAll
	case ci != "" && ci != "0" && ci != "false":
		o.Snapshots = testrunner.WriteNone
	}
	o.Scripts, o.Version, o.Executable = scripts.Files, buildinfo.Version(), cmp.Or(os.Args[0], "shardsh")
	o.ErrorText = func(err error) string { return secret.Redact(errorText(err)) }
	o.LoadClusterSnapshot = func(cfg *mock.Config, path string) error {
		_, err := metadata.ConfigureMock(cfg, path)
		return err
	}
	o.OnStuck = func(cause error) { exitWhenStuck(env, cause) }
	o.Files, err = testFiles(o.paths)
	return err
}

// run implements "shardsh test": it runs the tests of scripts.
func (o *testFlags) run(ctx context.Context, env environment) error {
	switch {
	case o.printTypes:
		_, err := io.WriteString(env.stdout, testrunner.TypeScriptDefinitions)
		return err
	case o.watch:
		return o.watchFiles(ctx, env, o.paths)
	}
	return o.runTests(ctx, env)
}

// filePollInterval is the interval at which --watch checks for changed files.
const filePollInterval = 300 * time.Millisecond

// watchFiles implements --watch.
func (o *testFlags) watchFiles(ctx context.Context, env environment, paths []string) error {
	text := reporter.Text{To: env.stdout, Color: env.usesColor()}
	o.OnFile = text.WriteFile
	return testrunner.Watch(ctx, o.Options, testrunner.WatchHooks{
		FindFiles: func() ([]string, error) { return testFiles(paths) },
		Wait: func(ctx context.Context) error {
			select {
			case <-wallClock{}.After(filePollInterval):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		OnBegin: func([]string) {
			if text.Color {
				fmt.Fprint(env.stdout, "\x1b[H\x1b[2J")
			}
		},
		OnEnd: func(r testrunner.Report) {
			text.WriteSummary(r)
			notice(env.stderr, false, "waiting for file changes; Ctrl-C exits")
		},
	})
}

// testFiles returns the test files for paths.
func testFiles(paths []string) ([]string, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	files, err := testrunner.Find(paths)
	if err != nil {
		return nil, usagef("%w", err)
	}
	if len(files) == 0 {
		return nil, usagef("no tests found in %s: they are files named *_test.js, *_test.mjs or *_test.ts",
			strings.Join(paths, ", "))
	}
	return files, nil
}

// reporters returns the functions that write the results of all tests; text output is written while the
// tests run.
func reporters() map[string]func(io.Writer, testrunner.Report) error {
	return map[string]func(io.Writer, testrunner.Report) error{"junit": reporter.JUnit, "json": reporter.JSON}
}

func (o *testFlags) runTests(ctx context.Context, env environment) error {
	text := reporter.Text{To: env.stdout, Color: env.usesColor()}
	if o.reporter != "text" && o.outFile == "" {
		text.To = io.Discard
	}
	progress := reporter.Progress{To: env.stderr, Now: wallClock{}.Now}
	if isTerminal(env.stderr) {
		o.OnTest = progress.OnTest
	}
	o.OnFile = func(f testrunner.FileResult) {
		progress.Clear()
		text.WriteFile(f)
	}
	report := testrunner.Run(ctx, o.Options)
	progress.Clear()
	text.WriteSummary(report)
	if err := o.report(env, report); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case report.Counts[testrunner.Failed] > 0:
		return reportedError{fmt.Errorf("%d tests failed", report.Counts[testrunner.Failed])}
	case o.Filter != nil && len(report.Counts) == 0:
		return usagef("--filter %s matches no test", o.filter)
	}
	return nil
}

// report writes the requested files, or the report in place of text.
func (o *testFlags) report(env environment, report testrunner.Report) error {
	if write, ok := reporters()[o.reporter]; ok {
		show := func(to io.Writer) error { return write(to, report) }
		if err := (&outputFlags{file: o.outFile, format: o.reporter}).write(env, show); err != nil {
			return err
		}
	}
	if o.lcov == "" {
		return nil
	}
	return safefile.Replace(o.lcov, func(to io.Writer) error { return testrunner.WriteLCOV(to, report.Coverage) })
}

func testText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Runs tests of scripts: files named *_test.js, *_test.mjs or *_test.ts, in the
directories and files given, or here. Each test has a mock cluster of its own, in
virtual time, with faults on request: docs/testing.md.`,
		Examples: []string{
			"shardsh test",
			"shardsh test drain_test.js --filter 'crash'",
			"shardsh test scripts --every-fault --server-version 5.0,8.0",
		},
		More: "Exit codes: 0 all tests passed; 1 a test failed; 2 wrong command line.",
	}
}
