package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/complete"
	"shardsh/cmd/shardsh/target"
	"shardsh/scripts"
)

// helpOnly is the command line of a subcommand without options.
type helpOnly struct{ help bool }

func (o *helpOnly) groups() []cmdline.Group {
	return []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.BoolVarP(&o.help, "help", "h", false, "print this help")
	})}
}

// completion is "shardsh completion": the script for a shell, or the answer to such
// a script, which gives the words up to the cursor, or the line.
func (env environment) completion(context.Context) error {
	if len(env.args) > 0 {
		switch rest := env.args[1:]; env.args[0] {
		case "words":
			return buffered(env.stdout, completions().Next(rest).Write)
		case "line":
			words := complete.Split(strings.Join(rest, " "))
			return buffered(env.stdout, completions().Next(words).Write)
		}
	}
	var o helpOnly
	groups := o.groups()
	words, err := env.parseWords(groups)
	if err != nil {
		return err
	}
	if o.help {
		return printCompletionHelp(env.stdout, groups)
	}
	shells := complete.Shells()
	names := strings.Join(slices.Sorted(maps.Keys(shells)), ", ")
	if len(words) != 1 {
		return usagef("completion takes the name of one shell: %s", names)
	}
	script, ok := shells[words[0]]
	if !ok {
		return usagef("completion knows %s, not %q", names, words[0])
	}
	_, err = io.WriteString(env.stdout, script)
	return err
}

// completions is what completion knows, from the tables that the help is made of.
func completions() complete.Tables {
	var rules, releases []string
	for _, r := range check.Rules() {
		rules = append(rules, r.Name)
	}
	for _, r := range catalog.Releases() {
		releases = append(releases, r.String())
	}
	return complete.Tables{
		Shell: shellUsage(), Commands: commandUsage(),
		Operands: map[string]complete.Answer{
			"":           {Names: complete.KindFiles, Suffixes: scriptSuffixes},
			"apply":      {Names: complete.KindFiles, Suffixes: []string{".json"}},
			"run":        library(),
			"test":       {Names: complete.KindFiles, Suffixes: []string{".js", ".mjs", ".ts"}},
			"completion": complete.Of(slices.Sorted(maps.Keys(complete.Shells()))...),
		},
		Values: map[string]complete.Answer{
			"authenticationMechanism": complete.Of(target.Mechanisms()...),
			"file":                    {Names: complete.KindFiles, Suffixes: scriptSuffixes},
			"rules":                   complete.Of(append([]string{"usual", "all"}, rules...)...),
			"server-version":          complete.Of(releases...),
			"tlsDisabledProtocols":    complete.Of("TLS1_0", "TLS1_1", "TLS1_2", "TLS1_3"),
		},
	}
}

// library answers with the scripts that ship.
func library() (answer complete.Answer) {
	for _, s := range scripts.List() {
		answer.Words = append(answer.Words, complete.Word{Text: s.Name, About: s.About})
	}
	return answer
}

// shellUsage is the command line of the shell itself.
func shellUsage() cmdline.Command {
	return cmdline.Command{Arguments: "[options] [address] [script.js ...] [-- script arguments]",
		Groups: shellFlags(&commandLine{})}
}

// commandUsage is that of each subcommand.
func commandUsage() (list []cmdline.Command) {
	for _, c := range subcommands() {
		list = append(list, cmdline.Command{Name: c.name, Arguments: c.arguments, About: c.about, Groups: c.groups()})
	}
	return list
}

func printCompletionHelp(to io.Writer, groups []cmdline.Group) error {
	_, err := fmt.Fprintf(to, `Prints the script that has your shell complete shardsh: subcommands, options and
their values, scripts and other files.

Usage:
  shardsh completion bash|zsh|fish

%s
Examples:
  source <(shardsh completion bash)                # in ~/.bashrc
  source <(shardsh completion zsh)                 # in ~/.zshrc, after compinit
  shardsh completion fish > ~/.config/fish/completions/shardsh.fish
`, cmdline.Usage(groups))
	return err
}
