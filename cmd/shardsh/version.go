package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// versionLine is the command line of "shardsh version".
type versionLine struct{ json, help bool }

func (o *versionLine) groups() []cmdline.Group {
	return []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.BoolVar(&o.json, "json", false, "all that is known of this program, as JSON")
		f.BoolVarP(&o.help, "help", "h", false, "print this help")
	})}
}

// tellVersion is "shardsh version".
func (env environment) tellVersion(context.Context) error {
	var o versionLine
	groups := o.groups()
	words, err := env.parseWords(groups)
	switch {
	case err != nil:
		return err
	case o.help:
		return printVersionHelp(env.stdout, groups)
	case len(words) > 0:
		return usagef("version takes no address: %q. db.version() tells the one of a cluster", secret.Redact(words[0]))
	case o.json:
		return writeJSON(env.stdout, builtAs())
	}
	_, err = fmt.Fprintln(env.stdout, builtAs().line())
	return err
}

func printVersionHelp(to io.Writer, groups []cmdline.Group) error {
	_, err := fmt.Fprintf(to, `Says what this program is: its version, the commit it was built from, and with
--json also the driver, and the releases that the mock cluster can behave like.

Usage:
  shardsh version [--json]

%s
Examples:
  shardsh version
  shardsh version --json | jq -r .commit
`, cmdline.Usage(groups))
	return err
}
