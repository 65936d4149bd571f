package main

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"shardsh/balancer/mock"
	"shardsh/bindings/sandbox"
	"shardsh/bindings/transcript"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/mocks"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
)

// environment is what the program knows of the world around it, so that tests
// can run it whole.
type environment struct {
	args           []string
	command        string // the subcommand, with a space before it; "" for the shell
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) (string, bool)
	// releaseInterrupt leaves Ctrl-C to the REPL; nil where there is none.
	releaseInterrupt func()
	// exit ends the process on the spot, for what can't be stopped otherwise; nil
	// where nothing may.
	exit func(code int)
	// stdinIsScript keeps questions from being answered by the script.
	stdinIsScript bool
	// openTerminal opens the process's own terminal, whatever its input and output
	// are; nil for that of the system.
	openTerminal func() (io.ReadWriteCloser, error)
	// transcript keeps what is sent; nil where nobody wants that.
	transcript *transcript.Writer
}

// commandLine is what was asked for.
type commandLine struct {
	server   target.Server
	database string // on the mock; a live cluster's is in the address
	files    []string
	args     []string // script arguments, after --
	warnings []string

	evals       []string
	shell       bool
	interactive bool
	set         []string
	setJSON     []string
	timeout     cmdline.Duration
	compat      bool
	norc        bool
	nodb        bool

	json                string // "", relaxed or canonical
	jsonl               bool
	limit               int
	deepInspect         cmdline.Choice
	quietChoice         cmdline.Choice
	verbose             cmdline.Choice
	quiet               bool
	skipStartupWarnings bool

	mock     string
	routers  int    // 0 is not said
	mockTime string // "", real or virtual
	demo     bool   // a mock that no file describes has something to do

	serverVersion cmdline.Release

	parameters map[string]string
	seed       uint64
	seeded     bool
	dbpath     string
	snapshot   string
	memory     cmdline.Size

	readOnly bool
	dryRun   bool
	confirm  bool
	// rehearses says that a dry run is the shell's, where a mock plays the cluster.
	rehearses bool
	sandbox   bool
	allow     sandbox.Rules // in the sandbox

	transcript string

	version   bool
	buildInfo bool
	help      bool
	ipv6      bool
}

// mockGiven is what a bare --mock means.
const mockGiven = "3"

// parseOptions reads the command line. Errors are usage errors that name the
// argument.
func parseOptions(args []string) (commandLine, error) {
	var o commandLine
	groups := shellFlags(&o)
	positional, rest, warnings, err := cmdline.Parse(groups, args)
	if err != nil {
		return o, err
	}
	if o.help || o.version || o.buildInfo {
		return o, nil
	}
	o.args, o.warnings = rest, warnings
	o.seeded = cmdline.All(groups).Changed("seed")
	o.quiet = o.quietChoice.On
	if len(positional) > 0 && !o.nodb && !isScript(positional[0]) {
		if err := o.takeAddress(positional[0]); err != nil {
			return o, err
		}
		positional = positional[1:]
	}
	o.files = append(o.files, positional...)
	return o, o.check()
}

// errEmptyAddress is for a word that is most likely a variable nobody has set: it
// must not become the mock, or this machine.
var errEmptyAddress = usagef("the address is empty")

// takeAddress reads the word that may be an address. With --mock it can only be
// the name of a database.
func (o *commandLine) takeAddress(word string) error {
	switch {
	case word == "":
		return errEmptyAddress
	case o.mock != "" && !strings.ContainsAny(word, "/\\. \"$:"):
		o.database = word
	default:
		o.server.Address = word
	}
	return nil
}

func (o commandLine) check() error {
	scripted := o.scripted()
	for _, rule := range []struct {
		broken bool
		format string
		args   []any
	}{
		{o.json != "" && o.json != "canonical" && o.json != "relaxed", "--json takes canonical or relaxed, not %q",
			[]any{o.json}},
		{o.nodb && o.mock != "", "--nodb and --mock exclude each other", nil},
		{o.nodb && o.server.Named(), "--nodb needs no host, user or TLS; leave those options out", nil},
		{o.mock != "" && o.server.Address != "", "--mock and the address %s exclude each other",
			[]any{secret.Redact(o.server.Address)}},
		{o.mock != "" && (o.server.Host != "" || o.server.Port != ""), "--mock and --host or --port exclude each other", nil},
		{o.mock != "" && o.server.Option() != "", "%s is for a live cluster, not for the mock", []any{o.server.Option()}},
		{!o.usesMock() && o.keeps(), "--dbpath and --snapshot are for the mock cluster only", nil},
		{o.mock != "" && o.snapshot != "", "--mock and --snapshot exclude each other: a snapshot has shards of its own", nil},
		{!o.usesMock() && (o.mockTime != "" || len(o.parameters) > 0 || o.seeded || o.serverVersion.Given ||
			o.memory.Given || o.routers != 0),
			"--mock-time, --routers, --set-parameter, --seed, --memory and --server-version are for the mock cluster only", nil},
		{o.routers < 0 || o.routers > mock.MostRouters, "--routers takes 1 to %d, not %d",
			[]any{mock.MostRouters, o.routers}},
		{o.wantsJSON() && !scripted, "--json and --jsonl need --eval or a script", nil},
		{o.wantsJSON() && slices.Contains(o.files, "-"), "--json and --jsonl need a script in a file, not on standard input",
			nil},
		{o.wantsJSON() && (o.shell || o.interactive), "--json or --jsonl, and a shell exclude each other", nil},
		{!o.sandbox && len(o.allow.Read)+len(o.allow.Env)+len(o.allow.Net) > 0,
			"--allow-read, --allow-env and --allow-net are for --sandbox only; everything is allowed without it", nil},
		{o.confirm && (o.readOnly || o.dryRun), "--confirm, and --read-only or --dry-run exclude each other: these send " +
			"no change that one could be asked about", nil},
		{o.limit < 0, "--limit takes a number from 1, not %d", []any{o.limit}},
		{o.timeout < 0, "--timeout takes a time above 0", nil},
	} {
		if rule.broken {
			return usagef(rule.format, rule.args...)
		}
	}
	if _, err := mocks.Pace(o.mockTime); err != nil {
		return err
	}
	return o.server.Check()
}

// scripted reports whether there is something to run besides a shell and a
// pipe.
func (o commandLine) scripted() bool { return len(o.evals)+len(o.files) > 0 }

// usesMock reports whether the cluster is the mock: it is without anything that
// says where, and without --nodb.
func (o commandLine) usesMock() bool { return !o.nodb && !o.server.Named() }

// keeps reports whether the mock cluster may have come from somewhere.
func (o commandLine) keeps() bool { return o.dbpath != "" || o.snapshot != "" }

// wantsNotices reports whether notices are shown: the quiet option decides, then --verbose, then
// whether there is anybody to read them (rules/04-command-line-and-prompt §1.5).
func (o commandLine) wantsNotices(interactive bool) bool {
	switch {
	case o.quietChoice.Given:
		return !o.quietChoice.On
	case o.verbose.Given:
		return o.verbose.On
	}
	return interactive
}

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

// isScript reports whether a word is a script and no address (rules/04-command-line-and-prompt §1.2):
// an existing file, -, or a name that ends like one.
func isScript(arg string) bool {
	if arg == "-" || arg == "/dev/stdin" {
		return true
	}
	if target.IsURI(arg) {
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
