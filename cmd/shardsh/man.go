package main

import (
	"context"

	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/buildinfo"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/manual"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
)

// manFlags are the flags of "shardsh man".
type manFlags struct{}

func (*manFlags) groups() []cmdline.Group { return nil }

func (*manFlags) parseArgs(_ environment, words []string) error {
	if len(words) > 0 {
		return usagef("man takes no arguments: %q. For one verb: shardsh help VERB", secret.Redact(words[0]))
	}
	return nil
}

// run implements "shardsh man": it prints the manual page, which is built from the help of all
// subcommands.
func (*manFlags) run(_ context.Context, env environment) error {
	return writeBuffered(env.stdout, manualPage().Write)
}

func manText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro:    "Prints the manual page as troff, built from the help of all verbs.",
		Usage:    []string{"shardsh man"},
		Examples: []string{"shardsh man | man -l -", "shardsh man > /usr/local/share/man/man1/shardsh.1"},
	}
}

// manualPage returns the content of the manual page.
func manualPage() manual.Page {
	b := buildinfo.Read()
	date := b.Date
	if len(date) >= len("2026-01-01") {
		date = date[:len("2026-01-01")]
	}
	return manual.Page{Version: b.Version, Date: date, Shell: shellCommand(new(shellFlags), new(helpFlags)),
		Commands: verbCommands(), Environment: environmentVariables(), Files: manualFiles()}
}

// environmentVariables returns the environment variables that the program uses.
func environmentVariables() []manual.Term {
	return []manual.Term{
		{Name: target.PasswordVariable, About: "The password of --username; hidden from scripts and child processes."},
		{Name: "SHARDSH_HOME", About: "Directory of history and settings (default: ~/.shardsh); empty keeps nothing."},
		{Name: script.PathEnv, About: "Directories of modules and scripts, like NODE_PATH of Node.js."},
		{Name: "SHARDSH_POLICY", About: "A policy that says what runs may change, besides that of --policy."},
		{Name: "SHARDSH_HISTORY", About: "The history file; empty keeps none."},
		{Name: "EDITOR, VISUAL", About: "The editor that edit starts at the prompt."},
		{Name: "PAGER", About: "The pager for long output on a terminal; empty for none."},
		{Name: "NO_COLOR", About: "No colours, if it is set and not empty."},
		{Name: "TERM", About: "No colours and no pager, if it is dumb."},
	}
}

// manualFiles returns the files that the program reads or writes without being asked.
func manualFiles() []manual.Term {
	return []manual.Term{
		{Name: "~/.shardshrc.js", About: "Runs before the first prompt; without it ~/.mongoshrc.js, if that is enabled."},
		{Name: "~/.shardsh/history", About: "The history of inputs, without those that may contain passwords."},
		{Name: "~/.shardsh/lib", About: "Modules and scripts of your own, after those of SHARDSH_PATH."},
		{Name: "/etc/shardsh/policy.json, /etc/shardsh/policy.yaml", About: "The machine's policies, which always apply."},
		{Name: "~/.shardsh/config", About: "What config.set() changed."},
	}
}
