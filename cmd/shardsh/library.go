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
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/target"
	"shardsh/scripts"
)

// runLibrary is "shardsh run": a script of the library, or of a file, with options of
// its own.
func runLibrary(ctx context.Context, env environment) error {
	if len(env.args) == 0 {
		printLibrary(env.stdout)
		return usagef("run needs the name of a script, or the path of one")
	}
	name := env.args[0]
	switch {
	case slices.Contains([]string{"--help", "-h"}, name):
		printLibraryHelp(env.stdout)
		return nil
	case strings.HasPrefix(name, "-"):
		return listLibrary(env)
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

// dryRuns reports whether the arguments of a script ask for a dry run.
func dryRuns(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		name, value, _ := strings.Cut(a, "=")
		return cmdline.Fold(name) == "dryrun" && strings.HasPrefix(name, "--") && value != "false"
	})
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
	groups, named := libraryFlags(&o), false
	o.args, o.warnings, err = cmdline.Sift(groups, args, func(word string, before []string) (bool, error) {
		if named || !target.IsURI(word) && (len(before) > 0 || isScript(word)) {
			return false, nil
		}
		named = true
		return true, o.takeAddress(word)
	})
	o.quiet, o.seeded = o.quietChoice.On, cmdline.All(groups).Changed("seed")
	return o, err
}

// libraryGroups are those of "shardsh run" itself, for the help and completion.
func libraryGroups() []cmdline.Group { return libraryFlags(&commandLine{}) }

// libraryFlags returns the options of "shardsh run" that are for shardsh: all that
// scripts of the library don't have themselves.
func libraryFlags(o *commandLine) []cmdline.Group {
	of := map[string]func(name string) bool{
		"Scripts": func(name string) bool { return name == "timeout" },
		"Output":  func(name string) bool { return name == "quiet" || name == "verbose" },
		"Safety":  func(name string) bool { return name != "dry-run" },
		"About":   func(string) bool { return false },
	}
	groups := shellFlags(o)
	for i, g := range groups {
		mine, some := of[g.Title]
		groups[i] = cmdline.NewGroup(g.Title, func(f *pflag.FlagSet) {
			g.Flags.VisitAll(func(flag *pflag.Flag) {
				if !some || mine(flag.Name) {
					f.AddFlag(flag)
				}
			})
		})
	}
	return slices.DeleteFunc(groups, func(g cmdline.Group) bool { return !g.Flags.HasFlags() })
}

// listLibrary is "shardsh run --list".
func listLibrary(env environment) error {
	var list, asJSON bool
	_, _, _, err := cmdline.Parse([]cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.BoolVar(&list, "list", false, "")
		f.BoolVar(&asJSON, "json", false, "")
	})}, env.args)
	switch {
	case err != nil:
		return err
	case !list:
		return usagef("run needs the name of a script before its options")
	case !asJSON:
		printLibrary(env.stdout)
		return nil
	}
	text, err := json.MarshalIndent(scripts.List(), "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintln(env.stdout, string(text))
	return nil
}

func printLibrary(out io.Writer) {
	for _, s := range scripts.List() {
		fmt.Fprintf(out, "  %-24s %s\n", s.Name, s.About)
	}
}

func printLibraryHelp(to io.Writer) {
	fmt.Fprint(to, `Runs a script of the library, or of a file. What says how to reach the cluster
is for shardsh, everything else for the script; after -- all is. The address is
the first word after the name, or a connection string anywhere. Scripts of the
library have --help, --dry-run, which nothing can change under, and --json.

Usage:
  shardsh run NAME [address] [options] [options of the script]
  shardsh run --list [--json]

Scripts:
`)
	printLibrary(to)
	fmt.Fprintf(to, `
%s
Exit codes: 0 it is done; 1 it is not: the reason is told; 2 wrong command line;
3 the script found something; 130 Ctrl-C, 143 SIGTERM.

Examples:
  shardsh run drain --help
  shardsh run drain mongodb://host:27017 --shard shard3 --dry-run
  shardsh run audit --host h1 --username joe --json
  shardsh run ./mine.js mongodb://host:27017 --whatever it takes
  shardsh run even-zones --mock --help
`, cmdline.Usage(libraryGroups()))
}
