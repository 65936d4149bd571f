package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/bindings/trial"
	"shardsh/bindings/trial/face"
	"shardsh/cmd/shardsh/built"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
	"shardsh/scripts"
)

// testLine is the command line of "shardsh test".
type testLine struct {
	filter     string
	releases   []string
	limit      cmdline.Duration
	reporter   string
	file       string
	update     bool
	help       bool
	everyFault bool

	trial.Options
}

func (o *testLine) groups() []cmdline.Group {
	return []cmdline.Group{
		cmdline.NewGroup("Which tests", func(f *pflag.FlagSet) {
			f.StringVar(&o.filter, "filter", "", "`REGEX` only tests whose name it matches: 'suite > test'")
			f.BoolVar(&o.List, "list", false, "name the tests, and run none")
			f.StringSliceVar(&o.releases, "server-version", nil, "`5.0,8.0` each test on each of these releases")
		}),
		cmdline.NewGroup("How", func(f *pflag.FlagSet) {
			f.BoolVar(&o.everyFault, "every-fault", false, "again with a fault at each command of each script")
			f.IntVar(&o.Repeat, "repeat", 1, "`N` each test so often, each time with another seed")
			f.Uint64Var(&o.Seed, "seed", 0, "`N` where chance begins")
			f.BoolVar(&o.Bail, "bail", false, "stop at the first test that fails")
			f.IntVar(&o.Jobs, "jobs", runtime.NumCPU(), "`N` files at once")
			f.Var(&o.limit, "test-timeout", "`TIME` of real time that a test may take (10s)")
			f.BoolVar(&o.update, "update-snapshots", false, "take what is now for what is right")
		}),
		cmdline.NewGroup("What to show", func(f *pflag.FlagSet) {
			f.BoolVarP(&o.help, "help", "h", false, "print this help")
		}),
	}
}

// settle checks the options and reads what they mean.
func (o *testLine) settle(env environment) (err error) {
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
	for name, n := range map[string]int{"--repeat": o.Repeat, "--jobs": o.Jobs} {
		if n < 1 {
			return usagef("%s takes a number from 1 on, not %d", name, n)
		}
	}
	ci, _ := env.getenv("CI")
	switch {
	case o.update:
		o.Snapshots = trial.WriteAll
	case ci != "" && ci != "0" && ci != "false":
		o.Snapshots = trial.WriteNone
	}
	o.Timeout = time.Duration(o.limit)
	o.EveryFault = o.everyFault
	o.Scripts, o.Version, o.Executable = scripts.Files, built.Version(), cmp.Or(os.Args[0], "shardsh")
	o.ErrorText = func(err error) string { return secret.Redact(errorText(err)) }
	o.BeginWith = func(cfg *mock.Config, path string) error {
		_, err := beginWith(cfg, path)
		return err
	}
	o.Stuck = env.endStuck
	return nil
}

// test is "shardsh test": tests of scripts.
func (env environment) test(ctx context.Context) error {
	var o testLine
	groups := o.groups()
	paths, err := env.parseWords(groups)
	if err != nil {
		return err
	}
	if o.help {
		env.printTestHelp(groups)
		return nil
	}
	if err := o.settle(env); err != nil {
		return err
	}
	if o.Files, err = testFiles(paths); err != nil {
		return err
	}
	return env.runTests(ctx, o)
}

// testFiles returns the files that are meant.
func testFiles(paths []string) ([]string, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	files, err := trial.Find(paths)
	if err != nil {
		return nil, usagef("%w", err)
	}
	if len(files) == 0 {
		return nil, usagef("no tests found in %s: they are files named *_test.js, *_test.mjs or *_test.ts",
			strings.Join(paths, ", "))
	}
	return files, nil
}

func (env environment) runTests(ctx context.Context, o testLine) error {
	text := face.Text{To: env.stdout, Color: env.color()}
	o.Done = text.File
	report := trial.Run(ctx, o.Options)
	text.End(report)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case report.Counts[trial.Failed] > 0:
		return reportedError{fmt.Errorf("%d tests failed", report.Counts[trial.Failed])}
	case o.Filter != nil && len(report.Counts) == 0:
		return usagef("--filter %s matches no test", o.filter)
	}
	return nil
}

func (env environment) printTestHelp(groups []cmdline.Group) {
	fmt.Fprintf(env.stdout, `Runs tests of scripts: files named *_test.js, *_test.mjs or *_test.ts, in the folders
and files given, or here. Each test has a mock cluster of its own, in virtual time,
that can be made to fail: docs/testing.md.

Usage:
  shardsh test [options] [path...]

%s
Examples:
  shardsh test
  shardsh test drain_test.js --filter 'crash'
  shardsh test scripts --every-fault --server-version 5.0,8.0

The exit code is 0 where all passed, 1 where one failed, 2 for a wrong command line.
`, cmdline.Usage(groups))
}
