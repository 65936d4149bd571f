package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
	"shardsh/scripts"
)

// libraryFlags are the flags of "shardsh run": those of the shell that scripts of the library don't
// define themselves.
type libraryFlags struct{ shellFlags }

func (o *libraryFlags) groups() []cmdline.Group {
	of := map[string]func(name string) bool{
		"Scripts": func(name string) bool { return name == "timeout" },
		"Output":  func(name string) bool { return name == "quiet" || name == "verbose" },
		"Safety":  func(name string) bool { return name != "dry-run" },
		"About":   func(string) bool { return false },
	}
	own := cmdline.NewGroup("Options", func(*pflag.FlagSet) {})
	groups := []cmdline.Group{own}
	for _, g := range o.shellFlags.groups() {
		mine, ok := of[g.Title]
		if !ok {
			groups = append(groups, g)
			continue
		}
		g.Flags.VisitAll(func(flag *pflag.Flag) {
			if mine(flag.Name) {
				own.Flags.AddFlag(flag)
			}
		})
	}
	return groups
}

func (o *libraryFlags) parseArgs(environment, []string) error  { return nil } // runUnparsed parses them
func (o *libraryFlags) run(context.Context, environment) error { return nil }

// runUnparsed implements "shardsh run": it runs a script of the library, or of a file, with its own
// options.
func (o *libraryFlags) runUnparsed(ctx context.Context, env environment) (bool, error) {
	if len(env.args) == 0 {
		printLibrary(env.stdout)
		return true, usagef("run needs the name of a script, or the path of one")
	}
	name := env.args[0]
	switch {
	case slices.Contains([]string{"--help", "-h", "--help-all"}, name):
		return false, nil
	case strings.HasPrefix(name, "-"):
		return true, listLibrary(env)
	}
	file, shipped, err := findScript(name)
	if err != nil {
		return true, err
	}
	if err := o.splitArgs(env.args[1:]); err != nil {
		return true, err
	}
	// A script of the library that was called with --dry-run runs read-only.
	o.readOnly = o.readOnly || shipped && asksForDryRun(o.args)
	o.nodb = o.nodb || shipped && (slices.Contains(o.args, "--help") || slices.Contains(o.args, "-h"))
	o.files = []string{file}
	return true, runScriptsAndREPL(ctx, env, &o.shellFlags)
}

// asksForDryRun reports whether the arguments of a script ask for a dry run.
func asksForDryRun(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		name, value, _ := strings.Cut(a, "=")
		return cmdline.Fold(name) == "dryrun" && strings.HasPrefix(name, "--") && value != "false"
	})
}

// findScript finds a script: one of the library by its name, another one by its path.
func findScript(name string) (file string, shipped bool, err error) {
	plain := strings.TrimPrefix(name, script.ShippedPrefix)
	isPath := strings.ContainsAny(name, `/\`)
	if found, ok := scripts.Find(plain); ok && !isPath {
		return script.ShippedPrefix + found, true, nil
	}
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return name, false, nil
	}
	if isPath || isScript(name) {
		return "", false, fmt.Errorf("no such script: %s", plaintext.EscapeText(name))
	}
	return "", false, usagef("no script %q in the library%s; shardsh run --list has them, and ./%s is a file", name,
		plaintext.DidYouMean(plain, scripts.Names()), plaintext.EscapeText(name))
}

// splitArgs separates the arguments of shardsh, which are the address and the options of the
// connection, from those of the script, which are all others.
func (o *libraryFlags) splitArgs(args []string) (err error) {
	groups, named := o.groups(), false
	o.args, o.warnings, err = cmdline.ParseKnown(groups, args, func(word string, before []string) (bool, error) {
		if named || !target.IsURI(word) && (len(before) > 0 || isScript(word)) {
			return false, nil
		}
		named = true
		return true, o.takeAddress(word)
	})
	if err != nil {
		return err
	}
	return o.check()
}

// listLibrary implements "shardsh run --list".
func listLibrary(env environment) error {
	var list, asJSON bool
	words, rest, _, err := cmdline.Parse([]cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.BoolVar(&list, "list", false, "")
		f.BoolVar(&asJSON, "json", false, "")
	})}, env.args)
	switch {
	case err != nil:
		return err
	case list && len(words)+len(rest) > 0:
		return usagef("--list takes no more words: %q", secret.Redact(append(words, rest...)[0]))
	case !list:
		return usagef("run needs the name of a script before its options")
	case !asJSON:
		printLibrary(env.stdout)
		return nil
	}
	return writeJSON(env.stdout, scripts.List())
}

func printLibrary(out io.Writer) {
	for _, s := range scripts.List() {
		fmt.Fprintf(out, "  %-24s %s\n", s.Name, s.About)
	}
}

func runText() cmdline.HelpText {
	var library strings.Builder
	printLibrary(&library)
	return cmdline.HelpText{
		Intro: `Runs a script of the library, or of a file. The options below are for shardsh, all
others for the script, and so is everything after --. The address is the first word
after the name, or a connection string anywhere. Scripts of the library have --help,
--json and --dry-run, under which nothing can be changed.`,
		Usage: []string{
			"shardsh run NAME [address] [options] [options of the script]",
			"shardsh run --list [--json]                      # lists the library",
		},
		Examples: []string{
			"shardsh run drain --help",
			"shardsh run drain mongodb://host:27017 --shard shard3 --dry-run",
			"shardsh run audit --host h1 --username joe --json",
			"shardsh run ./mine.js mongodb://host:27017 --mine 5",
		},
		More: "Scripts:\n" + library.String() + `
Exit codes: 0 success; 1 failure, with the reason; 2 wrong command line; 3 the
script found something; 130 Ctrl-C, 143 SIGTERM.`,
	}
}
