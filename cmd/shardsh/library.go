package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/scripts"
)

// runScript is "shardsh run": a script of the library, or of a file, with options of
// its own.
func (env environment) runScript(ctx context.Context) error {
	if len(env.args) == 0 {
		env.printLibrary(env.stdout)
		return usagef("run needs the name of a script, or the path of one")
	}
	name := env.args[0]
	switch {
	case slices.Contains([]string{"--help", "-h"}, name):
		env.printLibraryHelp()
		return nil
	case strings.HasPrefix(name, "-"):
		return env.listLibrary()
	}
	file, shipped, err := scriptNamed(name)
	if err != nil {
		return err
	}
	o, err := libraryLine(env.args[1:])
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	// A script of ours that promises to change nothing is held to it.
	o.readOnly = o.readOnly || shipped && dryRuns(o.args)
	o.nodb = o.nodb || shipped && (slices.Contains(o.args, "--help") || slices.Contains(o.args, "-h"))
	o.files = []string{file}
	return env.shell(ctx, o)
}

// dryRuns reports whether the arguments of a script ask for a dry run, and for nothing
// to be cleared up after it.
func dryRuns(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == "--dry-run" || a == "--dryRun" })
}

// scriptNamed finds a script: of the library by its name, any other by its path.
func scriptNamed(name string) (file string, shipped bool, err error) {
	plain := strings.TrimPrefix(name, script.ShippedPrefix)
	isPath := strings.ContainsAny(name, `/\`)
	if found, ok := scripts.Find(plain); ok && !isPath {
		return script.ShippedPrefix + found, true, nil
	}
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return name, false, nil
	}
	if isPath || isScript(name) {
		return "", false, fmt.Errorf("no script %s", plaintext.Visible(name))
	}
	return "", false, usagef("no script %q in the library%s; shardsh run --list has them, and ./%s is a file", name,
		plaintext.DidYouMean(plain, scripts.Names()), plaintext.Visible(name))
}

// libraryLine tells what is for shardsh, the address and how to reach it, from what
// is for the script, which is the rest.
func libraryLine(args []string) (o commandLine, err error) {
	w := words{flags: allFlags(libraryFlags(&o)), byFold: make(map[string]*pflag.Flag)}
	w.flags.VisitAll(func(f *pflag.Flag) { w.byFold[fold(f.Name)] = f })
	o.args = []string{}
	named := false
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch {
		case word == "--":
			o.args, args = append(o.args, args...), nil
		case w.isOption(word):
			taken, err := w.option(word, args)
			if err != nil {
				return o, err
			}
			args = args[taken:]
		case !named && !strings.HasPrefix(word, "-") && (isURI(word) || len(o.args) == 0 && !isScript(word)):
			named = true
			if err := o.takeAddress(word); err != nil {
				return o, err
			}
		default:
			o.args = append(o.args, word)
		}
	}
	o.warnings, o.quiet = w.warnings, o.quietChoice.on
	o.seeded = w.flags.Changed("seed")
	return o, nil
}

// ofScripts are options of the shell that scripts of the library have themselves, and
// toShell those that the shell keeps of groups which are else for the script.
var (
	ofScripts = []string{"dry-run"}
	toShell   = []string{"timeout", "quiet", "verbose"}
)

// libraryFlags returns the options of "shardsh run" that are for shardsh.
func libraryFlags(o *commandLine) []flagGroup {
	var groups []flagGroup
	for _, g := range shellFlags(o) {
		whole := !slices.Contains([]string{"Scripts", "Output", "About"}, g.title)
		groups = append(groups, group(g.title, func(f *pflag.FlagSet) {
			g.flags.VisitAll(func(flag *pflag.Flag) {
				if whole && !slices.Contains(ofScripts, flag.Name) || slices.Contains(toShell, flag.Name) {
					f.AddFlag(flag)
				}
			})
		}))
	}
	return slices.DeleteFunc(groups, func(g flagGroup) bool { return !g.flags.HasFlags() })
}

// listLibrary is "shardsh run --list".
func (env environment) listLibrary() error {
	var list, asJSON bool
	_, _, _, err := parseFlags([]flagGroup{group("Options", func(f *pflag.FlagSet) {
		f.BoolVar(&list, "list", false, "")
		f.BoolVar(&asJSON, "json", false, "")
	})}, env.args)
	switch {
	case err != nil:
		return err
	case !list:
		return usagef("run needs the name of a script before its options")
	case !asJSON:
		env.printLibrary(env.stdout)
		return nil
	}
	text, err := json.MarshalIndent(scripts.List(), "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintln(env.stdout, string(text))
	return nil
}

func (env environment) printLibrary(out io.Writer) {
	for _, s := range scripts.List() {
		fmt.Fprintf(out, "  %-24s %s\n", s.Name, s.About)
	}
}

func (env environment) printLibraryHelp() {
	fmt.Fprint(env.stdout, `Runs a script of the library, or of a file. What says how to reach the cluster
is for shardsh, everything else for the script; after -- all is. The address is
the first word after the name, or a connection string anywhere. Scripts of the
library have --help, --dry-run, which nothing can change under, and --json.

Usage:
  shardsh run NAME [address] [options] [options of the script]
  shardsh run --list [--json]

Scripts:
`)
	env.printLibrary(env.stdout)
	fmt.Fprintf(env.stdout, `
%s
Exit codes: 0 it is done; 1 it is not: the reason is told; 2 wrong command line;
3 the script found something; 130 Ctrl-C, 143 SIGTERM.

Examples:
  shardsh run drain --help
  shardsh run drain mongodb://host:27017 --shard shard3 --dry-run
  shardsh run audit --host h1 --username joe --json
  shardsh run ./mine.js mongodb://host:27017 --whatever it takes
  shardsh run even-zones --mock --help
`, groupUsage(libraryFlags(&commandLine{})))
}
