package main

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/complete"
	"shardsh/cmd/shardsh/target"
	"shardsh/scripts"
)

// completionFlags are the flags of "shardsh completion".
type completionFlags struct{ script string }

func (*completionFlags) groups() []cmdline.Group { return nil }

// runUnparsed answers a completion script, which passes the words up to the cursor, or the line.
func (*completionFlags) runUnparsed(_ context.Context, env environment) (bool, error) {
	if len(env.args) == 0 {
		return false, nil
	}
	words := env.args[1:]
	switch env.args[0] {
	case "line":
		words = complete.Split(strings.Join(words, " "))
	case "words":
	default:
		return false, nil
	}
	return true, writeBuffered(env.stdout, completionTables().Complete(words).Write)
}

func (o *completionFlags) parseArgs(_ environment, words []string) (err error) {
	shells := complete.Shells()
	names := strings.Join(slices.Sorted(maps.Keys(shells)), ", ")
	if len(words) != 1 {
		return usagef("completion takes the name of one shell: %s", names)
	}
	var ok bool
	if o.script, ok = shells[words[0]]; !ok {
		return usagef("completion supports %s, not %q", names, words[0])
	}
	return nil
}

// run implements "shardsh completion": it prints the script for a shell.
func (o *completionFlags) run(_ context.Context, env environment) error {
	_, err := io.WriteString(env.stdout, o.script)
	return err
}

func completionText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Prints a completion script for your shell: it completes the verbs of shardsh, options
and their values, scripts and other files.`,
		Usage: []string{"shardsh completion bash|zsh|fish"},
		Examples: []string{
			"source <(shardsh completion bash)                # in ~/.bashrc",
			"source <(shardsh completion zsh)                 # in ~/.zshrc, after compinit",
			"shardsh completion fish > ~/.config/fish/completions/shardsh.fish",
		},
	}
}

// completionTables builds the tables for completion from those of the help.
func completionTables() complete.Tables {
	var rules, releases []string
	for _, r := range check.Rules() {
		rules = append(rules, r.Name)
	}
	for _, r := range catalog.Releases() {
		releases = append(releases, r.String())
	}
	return complete.Tables{
		Shell: shellCommand(new(shellFlags), new(helpFlags)), Commands: verbCommands(),
		Operands: map[string]complete.Completions{
			"":           {Files: complete.KindFiles, Suffixes: scriptSuffixes},
			"apply":      {Files: complete.KindFiles, Suffixes: []string{".json"}},
			"run":        libraryScripts(),
			"test":       {Files: complete.KindFiles, Suffixes: []string{".js", ".mjs", ".ts"}},
			"completion": complete.NewCompletions(slices.Sorted(maps.Keys(complete.Shells()))...),
		},
		Values: map[string]complete.Completions{
			"authenticationMechanism": complete.NewCompletions(target.Mechanisms()...),
			"file":                    {Files: complete.KindFiles, Suffixes: scriptSuffixes},
			"rules":                   complete.NewCompletions(append([]string{"usual", "all"}, rules...)...),
			"server-version":          complete.NewCompletions(releases...),
			"tlsDisabledProtocols":    complete.NewCompletions("TLS1_0", "TLS1_1", "TLS1_2", "TLS1_3"),
		},
	}
}

// libraryScripts returns the scripts of the library.
func libraryScripts() (answer complete.Completions) {
	for _, s := range scripts.List() {
		answer.Words = append(answer.Words, complete.Word{Text: s.Name, About: s.About})
	}
	return answer
}
