package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// environment is what the program knows of the world around it, so that tests
// can run it whole.
type environment struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) (string, bool)
	// releaseInterrupt leaves Ctrl-C to the REPL; nil where there is none.
	releaseInterrupt func()
}

// commandLine is what was asked for.
type commandLine struct {
	address string
	files   []string
	args    []string // script arguments, after --

	evals      []string
	quiet      bool
	nodb       bool
	shell      bool
	json       string // "", relaxed or canonical
	mock       string
	mockTime   string // "", real or virtual
	parameters map[string]string
	seed       uint64
	seeded     bool
	readOnly   bool
	dryRun     bool
	version    bool
	help       bool
}

// mockGiven is what a bare --mock means.
const mockGiven = "3"

func newFlags(o *commandLine) *pflag.FlagSet {
	flags := pflag.NewFlagSet("shardsh", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.SetOutput(io.Discard)
	flags.StringArrayVar(&o.evals, "eval", nil, "run this JavaScript and print its result; repeat to add")
	flags.StringArrayVarP(&o.files, "file", "f", nil, "run this script; repeat to add (- is stdin)")
	flags.BoolVar(&o.shell, "shell", false, "open the shell after --eval and the scripts")
	flags.BoolVar(&o.quiet, "quiet", false, "no banner, no notices")
	flags.BoolVar(&o.nodb, "nodb", false, "no cluster at all")
	flags.StringVar(&o.json, "json", "", "print the result as extended JSON: canonical or relaxed")
	flags.Lookup("json").NoOptDefVal = "canonical"
	flags.StringVar(&o.mock, "mock", "", "use the mock cluster, with N shards or as a topology file says")
	flags.Lookup("mock").NoOptDefVal = mockGiven
	flags.StringVar(&o.mockTime, "mock-time", "", "real or virtual; virtual is the default for scripts, real for the shell")
	flags.StringToStringVar(&o.parameters, "set-parameter", nil, "set a server parameter of the mock, name=value; repeat to add")
	flags.Uint64Var(&o.seed, "seed", 0, "seed of the mock; with one, virtual time begins on 2026-01-01 and runs repeat exactly")
	flags.BoolVar(&o.readOnly, "read-only", false, "refuse every command that changes something")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print commands that change something instead of sending them")
	flags.BoolVar(&o.version, "version", false, "print the version")
	flags.BoolVarP(&o.help, "help", "h", false, "print this help")
	return flags
}

// parseOptions reads the command line. Errors are usage errors that name the
// argument.
func parseOptions(args []string) (commandLine, error) {
	var o commandLine
	flags := newFlags(&o)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			o.help = true
			return o, nil
		}
		return o, usageError{err}
	}
	o.seeded = flags.Changed("seed")
	positional := flags.Args()
	if at := flags.ArgsLenAtDash(); at >= 0 {
		positional, o.args = flags.Args()[:at], flags.Args()[at:]
	}
	if len(positional) > 0 && !o.nodb && !isScript(positional[0]) {
		o.address, positional = positional[0], positional[1:]
	}
	o.files = append(o.files, positional...)
	return o, o.check()
}

func (o commandLine) check() error {
	switch {
	case !slices.Contains([]string{"", "canonical", "relaxed"}, o.json):
		return usagef("--json takes canonical or relaxed, not %q", o.json)
	case !slices.Contains([]string{"", "real", "virtual"}, o.mockTime):
		return usagef("--mock-time takes real or virtual, not %q", o.mockTime)
	case o.nodb && o.mock != "":
		return usagef("--nodb and --mock exclude each other")
	case o.address != "" && o.mock != "":
		return usagef("--mock and the address %s exclude each other", redact(o.address))
	case !o.usesMock() && (o.mockTime != "" || len(o.parameters) > 0 || o.seeded):
		return usagef("--mock-time, --set-parameter and --seed are for the mock cluster only")
	case o.json != "" && len(o.evals)+len(o.files) == 0:
		return usagef("--json needs --eval or a script")
	case o.json != "" && o.shell:
		return usagef("--json and --shell exclude each other")
	}
	return nil
}

// usesMock: without an address and without --nodb the cluster is the mock.
func (o commandLine) usesMock() bool { return !o.nodb && o.address == "" }

// shards reads --mock as a number of shards; false when it names a file.
func (o commandLine) shards() (int, bool, error) {
	text := o.mock
	if text == "" {
		text = mockGiven
	}
	if strings.Trim(text, "-0123456789") != "" {
		return 0, false, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, true, usagef("--mock takes 1 to 1000 shards, not %s", text)
	}
	if n < 1 || n > 1000 {
		return 0, true, usagef("--mock takes 1 to 1000 shards, not %d", n)
	}
	return n, true, nil
}

var scriptSuffixes = []string{".js", ".cjs", ".mjs", ".ts", ".mongodb"}

// isScript tells a script from an address (spec 04 §1.2): an existing file,
// -, or a name that ends like one.
func isScript(arg string) bool {
	if arg == "-" || arg == "/dev/stdin" {
		return true
	}
	if strings.HasPrefix(arg, "mongodb://") || strings.HasPrefix(arg, "mongodb+srv://") {
		return false
	}
	for _, suffix := range scriptSuffixes {
		if strings.HasSuffix(arg, suffix) {
			return true
		}
	}
	info, err := os.Stat(arg)
	return err == nil && !info.IsDir()
}

func (env environment) printHelp() {
	var o commandLine
	fmt.Fprintf(env.stdout, `shardsh: a shell for sharded MongoDB clusters, with a mock cluster inside

Usage:
  shardsh [options] [address] [script.js ...] [-- script arguments]
%s
Without an address the cluster is the embedded mock. An address is a
connection string (mongodb://...), host:port/db, or the name of a database.

Options:
%s
Exit codes: 0 fine; 1 a script failed or the cluster can't be reached; 2 wrong
command line; 3 check found a collection that is not balanced; 130 Ctrl-C.
`, subcommandUsage(), newFlags(&o).FlagUsages())
}
