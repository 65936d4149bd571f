package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"shardsh/cmd/shardsh/cmdline"
)

// subcommand is a first word that has a command line of its own. A database
// of that name is reached with its host before it: 127.0.0.1/check.
type subcommand struct {
	name      string
	arguments string // as the help shows them
	about     string // a few words for the help
	// run gets an environment whose args are those after the name.
	run func(env environment, ctx context.Context) error
	// groups are its options, for the help, completion and the manual page.
	groups func() []cmdline.Group
}

// subcommands are in the order of the help.
func subcommands() []subcommand {
	return []subcommand{
		{"check", "[options] ADDRESS...", "is a cluster well, for CI", environment.check, new(checkLine).groups},
		{"why", "[options] [address]", "what is wrong, why, and what to do", environment.why, new(whyLine).groups},
		{"plan", "[options] [address]", "what would be done to reach a goal", environment.plan, new(planLine).groups},
		{"apply", "[options] plan.json [address]", "carry a plan out, go on, undo",
			environment.apply, new(applyFlags).groups},
		{"balance", "--ns NS [address]", "our engine at work on a live cluster",
			environment.balance, new(balanceFlags).groups},
		{"defragment", "--ns NS [address]", "merge small chunks, at a pace",
			environment.defragment, new(defragmentFlags).groups},
		{"presplit", "--ns NS [address]", "cut a collection and spread it",
			environment.presplitCollection, new(presplitFlags).groups},
		{"drain", "--shard ID [address]", "empty a shard, and remove it", environment.drain, new(drainFlags).groups},
		{"forecast", "[options] [address]", "how long balancing or draining takes",
			environment.forecast, new(forecastLine).groups},
		{"advise", "--ns NS [address]", "which shard key suits a collection",
			func(env environment, ctx context.Context) error { return runAdvise(ctx, env) }, new(adviseLine).groups},
		{"report", "[address] -o FILE", "a page for a browser about a cluster",
			environment.writeReport, new(reportLine).groups},
		{"map", "--ns NS [address]", "the chunks of a collection, drawn", environment.drawMap, new(mapLine).groups},
		{"watch", "[options] [address]", "what moves and what is wrong, alive", environment.watch, new(watchLine).groups},
		{"simulate", "[options] [address]", "what would come of changes", environment.simulate, new(simulateLine).groups},
		{"snapshot", "[address] -o FILE", "the metadata of a cluster, in a file",
			environment.takeSnapshot, new(snapshotLine).groups},
		{"run", "NAME [address] [options]", "a maintenance script of the library",
			func(env environment, ctx context.Context) error { return runLibrary(ctx, env) }, libraryGroups},
		{"test", "[options] [path...]", "tests of scripts, with faults", environment.test, new(testLine).groups},
		{"serve", "[options]", "the mock cluster on a port", environment.serve, new(serveLine).groups},
		{"doctor", "[options] [address]", "can you work on it from here", environment.examine, new(doctorLine).groups},
		{"completion", "bash|zsh|fish", "completion for your shell", environment.completion, new(helpOnly).groups},
		{"man", "", "the manual page", environment.manual, new(helpOnly).groups},
		{"version", "[options]", "what this program is", environment.tellVersion, new(versionLine).groups},
	}
}

// subcommand finds the one that the command line begins with, and returns the
// environment to run it in. "help NAME" is "NAME --help".
func (env environment) subcommand() (subcommand, environment, bool) {
	args := env.args
	if len(args) > 1 && args[0] == "help" {
		args = []string{args[1], "--help"}
	}
	for _, c := range subcommands() {
		if len(args) > 0 && c.name == args[0] {
			env.args, env.command = args[1:], " "+c.name
			return c, env, true
		}
	}
	return subcommand{}, env, false
}

// name is what the user calls what runs.
func (env environment) name() string { return strings.TrimSpace(cmp.Or(env.command, "shardsh")) }

// asksForHelp reports whether the word is "help", alone or with what is no
// subcommand.
func (env environment) asksForHelp() bool { return len(env.args) > 0 && env.args[0] == "help" }

// subcommandUsage returns one line each for the help.
func subcommandUsage() string {
	var lines strings.Builder
	for _, c := range subcommands() {
		fmt.Fprintf(&lines, "  shardsh %-30s %s\n", c.name+" "+c.arguments, c.about)
	}
	return lines.String()
}
