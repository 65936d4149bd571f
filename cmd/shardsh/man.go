package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/built"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/manual"
	"shardsh/cmd/shardsh/target"
)

// manual is "shardsh man": the manual page, made of the help of all commands.
func (env environment) manual(ctx context.Context) error {
	var o helpOnly
	groups := o.groups()
	words, err := env.parseWords(groups)
	switch {
	case err != nil:
		return err
	case o.help:
		return printManualHelp(env.stdout, groups)
	case len(words) > 0:
		return usagef("man takes no more words: %q. shardsh help %s tells about one command", words[0], words[0])
	}
	return buffered(env.stdout, manualPage(ctx, env).Write)
}

// manualPage is what the page is made of.
func manualPage(ctx context.Context, env environment) manual.Page {
	b := built.This()
	date := b.Date
	if len(date) >= len("2026-01-01") {
		date = date[:len("2026-01-01")]
	}
	page := manual.Page{Version: b.Version, Date: date, Shell: manualEntry(ctx, env, shellUsage()),
		Environment: variables(), Files: files()}
	for _, c := range commandUsage() {
		page.Commands = append(page.Commands, manualEntry(ctx, env, c))
	}
	return page
}

// manualEntry asks a command for its help.
func manualEntry(ctx context.Context, env environment, c cmdline.Command) manual.Entry {
	var help bytes.Buffer
	env.args, env.command, env.stdout = []string{"--help"}, "", &help
	if c.Name != "" {
		env.args = []string{c.Name, "--help"}
	}
	env.run(ctx)
	return manual.Entry{Command: c, Help: help.String()}
}

// variables are those of the environment that mean something to the program.
func variables() []manual.Term {
	return []manual.Term{
		{Name: target.PasswordVariable, About: "The password of --username; scripts and other programs don't see it."},
		{Name: "SHARDSH_HOME", About: "Where history and settings are kept, in place of ~/.shardsh; empty keeps nothing."},
		{Name: script.PathVariable, About: "Folders with modules and scripts, as NODE_PATH has them for Node."},
		{Name: "SHARDSH_HISTORY", About: "The file of the history; empty keeps none."},
		{Name: "EDITOR, VISUAL", About: "What edit opens at the prompt."},
		{Name: "PAGER", About: "What long output is shown with on a terminal; empty for none."},
		{Name: "NO_COLOR", About: "Where it is set and not empty output has no colours."},
		{Name: "TERM", About: "dumb has no colours and no pager."},
	}
}

// files are those that the program reads or writes by itself.
func files() []manual.Term {
	return []manual.Term{
		{Name: "~/.shardshrc.js", About: "Runs before the first prompt; without it ~/.mongoshrc.js does, where it may."},
		{Name: "~/.shardsh/history", About: "What was entered at the prompt, without what has passwords in it."},
		{Name: "~/.shardsh/lib", About: "Modules and scripts of your own, after those of SHARDSH_PATH."},
		{Name: "~/.shardsh/config", About: "What config.set() changed."},
	}
}

func printManualHelp(to io.Writer, groups []cmdline.Group) error {
	_, err := fmt.Fprintf(to, `Prints the manual page as troff, made of the help of all commands.

Usage:
  shardsh man

%s
Examples:
  shardsh man | man -l -
  shardsh man > /usr/local/share/man/man1/shardsh.1
`, cmdline.Usage(groups))
	return err
}
