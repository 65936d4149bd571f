package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/plaintext"
	"shardsh/cmd/shardsh/cmdline"
)

// verb is a subcommand. A database with the same name can be reached with its host: 127.0.0.1/check.
type verb struct {
	section   section
	name      string
	arguments string // in the form of the help
	about     string // a short description for the help
	text      cmdline.HelpText
	new       func() command
}

// command holds the flags of a subcommand, and runs it.
type command interface {
	groups() []cmdline.Group
	// parseArgs parses the flags and the other words, and returns an error for invalid combinations.
	parseArgs(env environment, words []string) error
	run(ctx context.Context, env environment) error
}

// section is a section of the list of subcommands.
type section string

const (
	sectionRead    section = "Read a cluster, and change nothing"
	sectionChange  section = "Change a cluster"
	sectionScripts section = "Scripts, agents, and the mock cluster"
	sectionProgram section = "This program" // the help shows only names
)

// verbs returns all subcommands in the order of the help.
func verbs() []verb {
	return []verb{
		{sectionRead, "check", "[options] ADDRESS...", "check that clusters are healthy, for CI and monitoring", checkText(),
			func() command { return new(checkFlags) }},
		{sectionRead, "why", "[options] [address]", "what is wrong, why, and what to do", whyText(),
			func() command { return new(whyFlags) }},
		{sectionRead, "doctor", "[options] [address]", "check that you can work on a cluster from here", doctorText(),
			func() command { return new(doctorFlags) }},
		{sectionRead, "watch", "[options] [address]", "live view of migrations and findings", watchText(),
			func() command { return new(watchFlags) }},
		{sectionRead, "map", "--ns NS [options] [address]", "draw the chunks of a collection", mapText(),
			func() command { return new(mapFlags) }},
		{sectionRead, "plan", "[options] [address]", "the steps that would reach a goal", planText(),
			func() command { return new(planFlags) }},
		{sectionRead, "forecast", "[options] [address]", "how long balancing or draining will take", forecastText(),
			func() command { return new(forecastFlags) }},
		{sectionRead, "simulate", "--change CHANGE [options] [address]", "what changes to the cluster would lead to",
			simulateText(), func() command { return new(simulateFlags) }},
		{sectionRead, "heat", "[options] [address]", "which shards, chunks and keys have the load", heatText(),
			func() command { return new(heatFlags) }},
		{sectionRead, "advise", "--ns NS [options] [address]", "which shard key, chunk size or presplit suits a collection",
			adviseText(), func() command { return new(adviseFlags) }},
		{sectionRead, "report", "[options] [address] -o FILE", "an HTML report about a cluster", reportText(),
			func() command { return new(reportFlags) }},
		{sectionRead, "export", "[options] [address]", "metrics of clusters for Prometheus", exportText(),
			func() command { return new(exportFlags) }},
		{sectionRead, "snapshot", "[options] [address] -o FILE|--into DIR", "save the metadata of a cluster to a file",
			snapshotText(),
			func() command { return new(snapshotFlags) }},
		{sectionRead, "diff", "[options] OLD NEW", "what has changed between two snapshots", diffText(),
			func() command { return new(diffFlags) }},
		{sectionRead, "history", "[options] [address]", "who has changed a cluster, and what became of it", historyText(),
			func() command { return new(historyFlags) }},
		{sectionRead, "verify", "[start|--against FILE] [options] [address]",
			"prove that no document was lost, doubled or changed",
			verifyText(), func() command { return new(verifyFlags) }},
		{sectionRead, "audit", "[options] [address]", "whether data is on the shards where it should be", auditText(),
			func() command { return new(auditFlags) }},
		{sectionChange, "apply", "[options] plan.json [address]", "apply a plan, resume it, or undo it", applyText(),
			func() command { return new(applyFlags) }},
		{sectionChange, "balance", "--ns NS|--all [options] [address]", "balance collections with shardsh's own engine",
			balanceText(),
			func() command { return new(balanceFlags) }},
		{sectionChange, "drain", "--shard ID [options] [address]", "empty a shard, and remove it", drainText(),
			func() command { return new(drainFlags) }},
		{sectionChange, "defragment", "--ns NS|--all [options] [address]", "merge small chunks", defragmentText(),
			func() command { return new(defragmentFlags) }},
		{
			sectionChange,
			"presplit",
			"--ns NS [options] [address]",
			"split a collection and distribute its chunks",
			presplitText(),
			func() command { return new(presplitFlags) },
		},
		{
			sectionChange,
			"quiesce",
			"[options] [address] [-- COMMAND...]",
			"stop the balancer with proof, for backups and upgrades",
			quiesceText(),
			func() command { return new(quiesceFlags) },
		},
		{sectionChange, "pause", "\"why\" [options] [address]", "have all runs of shardsh wait before their next step",
			pauseText(), func() command { return new(pauseFlags) }},
		{sectionScripts, "run", "NAME [address] [options]", "run a maintenance script of the library", runText(),
			func() command { return new(libraryFlags) }},
		{sectionScripts, "test", "[options] [path...]", "run tests of scripts, with injected faults", testText(),
			func() command { return new(testFlags) }},
		{sectionScripts, "serve", "[options]", "serve the mock cluster on a port", serveText(),
			func() command { return new(serveFlags) }},
		{sectionScripts, "mcp", "[options] [address]", "tools for agents that speak MCP", mcpText(),
			func() command { return new(mcpFlags) }},
		{sectionProgram, "completion", "bash|zsh|fish", "print the completion script of your shell", completionText(),
			func() command { return new(completionFlags) }},
		{sectionProgram, "man", "", "print the manual page", manText(), func() command { return new(manFlags) }},
		{sectionProgram, "version", "[options]", "print the version and how it was built", versionText(),
			func() command { return new(versionFlags) }},
	}
}

// findVerb finds the subcommand at the beginning of the command line, which may consist of two words,
// and returns the environment in which to run it. "help NAME" is "NAME --help".
func findVerb(env environment) (verb, environment, bool) {
	args := env.args
	if len(args) > 1 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	for _, v := range append(jobVerbs(), verbs()...) {
		words := strings.Fields(v.name)
		if len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
			env.args, env.command = args[len(words):], " "+v.name
			return v, env, true
		}
	}
	return verb{}, env, false
}

// helpCommand returns the help of a subcommand.
func (v verb) helpCommand(c command, ask *helpFlags) cmdline.Command {
	return cmdline.Command{
		Name:      v.name,
		Arguments: v.arguments,
		About:     v.about,
		Text:      v.text,
		Groups:    ask.addTo(c.groups()),
	}
}

// execute parses the command line of a subcommand and runs it, or prints its help.
func (v verb) execute(ctx context.Context, env environment) error {
	c, ask := v.new(), new(helpFlags)
	if raw, ok := c.(interface {
		// runUnparsed runs a command line that has other words than options of the subcommand. It returns
		// false for other command lines.
		runUnparsed(ctx context.Context, env environment) (bool, error)
	}); ok {
		if done, err := raw.runUnparsed(ctx, env); done {
			return err
		}
	}
	usage := v.helpCommand(c, ask)
	words, err := parseWords(env, usage.Groups)
	switch {
	case err == nil && ask.isAsked():
		return ask.print(env.stdout, usage)
	case err == nil:
		err = c.parseArgs(env, words)
	}
	if err == nil {
		return c.run(ctx, env)
	}
	if by, ok := c.(interface {
		// refuse reports a wrong command line.
		refuse(env environment, err error) error
	}); ok {
		return by.refuse(env, err)
	}
	return err
}

// parseWords parses a command line, and returns the words that are not options.
func parseWords(env environment, groups []cmdline.Group) ([]string, error) {
	positional, rest, warnings, err := cmdline.Parse(groups, env.args)
	for _, w := range warnings {
		fmt.Fprintln(env.errOut(), w)
	}
	return append(positional, rest...), err
}

// helpFlags are the flags that request help.
type helpFlags struct{ help, all bool }

// addTo adds the flags to the options of a command: to its last own section.
func (o *helpFlags) addTo(groups []cmdline.Group) []cmdline.Group {
	if cmdline.All(groups).Lookup("help") != nil {
		return groups
	}
	own := -1
	for i, g := range groups {
		if g.Page == "" {
			own = i
		}
	}
	if own < 0 {
		groups, own = append([]cmdline.Group{cmdline.NewGroup("Options", func(*pflag.FlagSet) {})}, groups...), 0
	}
	f := groups[own].Flags
	f.BoolVarP(&o.help, "help", "h", false, "print this help")
	f.BoolVar(&o.all, "help-all", false, "print all options")
	return groups
}

func (o *helpFlags) isAsked() bool { return o.help || o.all }

func (o *helpFlags) print(to io.Writer, c cmdline.Command) error {
	text := c.Help()
	if o.all {
		text = c.HelpAll()
	}
	_, err := io.WriteString(to, text)
	return err
}

// verbCommands returns the help of each subcommand.
func verbCommands() (list []cmdline.Command) {
	for _, v := range append(verbs(), jobVerbs()...) {
		list = append(list, v.helpCommand(v.new(), new(helpFlags)))
	}
	return list
}

// sections returns the sections of subcommands.
func sections() []section {
	return []section{sectionRead, sectionChange, sectionScripts, sectionProgram}
}

// similarVerb returns the subcommand that a word is probably a misspelling of; empty for an address, or
// if no subcommand is near.
func similarVerb(address string) string {
	if strings.ContainsAny(address, "./:") {
		return ""
	}
	var names []string
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	return plaintext.CorrectTypo(address, names)
}

// checkDatabase returns an error for a name that is similar to a subcommand and that is no database of
// the cluster. If the user may not list databases, the name is accepted.
func checkDatabase(ctx context.Context, o *clusterFlags, conn *connection) error {
	name := cmp.Or(o.server.Address, o.database)
	verb := similarVerb(name)
	if verb == "" || conn.client == nil {
		return nil
	}
	list, err := conn.client.ListDatabaseNames(ctx, bson.D{{Key: "name", Value: name}})
	if err == nil && len(list) == 0 {
		return unknownWordError(name, verb)
	}
	return nil
}

func unknownWordError(name, verb string) error {
	return usagef("%q is neither a verb, a file nor a database of the cluster; did you mean shardsh %s? "+
		"To begin a database of that name: shardsh HOST/%s", name, verb, name)
}

// suggestVerb adds a suggestion for a misspelled subcommand to a connection error.
func suggestVerb(o *clusterFlags, err error) error {
	if verb := similarVerb(o.server.Address); verb != "" {
		return cmdline.UsageError{Err: fmt.Errorf("%w; did you mean shardsh %s?", err, verb)}
	}
	return err
}
