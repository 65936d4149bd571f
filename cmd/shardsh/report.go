package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/anonymous"
	"shardsh/balancer/live"
	"shardsh/balancer/report"
	"shardsh/bindings/plaintext"
	"shardsh/cmd/shardsh/cmdline"
)

// reportLine is the command line of "shardsh report".
type reportLine struct {
	answerLine
	redact bool
	quick  bool
}

func (o *reportLine) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.BoolVar(&o.redact, "redact", false, "replace names and key values by random ones of the same order and length")
		f.BoolVar(&o.quick, "quick", false, "no forecast and no plan, which take their time on large clusters")
		o.flags(f, "html", "json")
	})}
	return append(groups, o.server.Flags()...)
}

func (o *reportLine) settle(env environment) error {
	if err := o.checkFormat("html", "json"); err != nil {
		return err
	}
	switch {
	case o.format == "html" && o.file == "":
		return usagef("report needs -o FILE for the page, or -o - for standard output")
	case o.format == "html" && o.file == "-" && isTerminal(env.stdout):
		return usagef("a page is not for a terminal: give -o FILE")
	}
	return nil
}

func (o *reportLine) reads() live.ReaderOptions { return live.ReaderOptions{Parts: live.WithStatus} }

// writeReport is "shardsh report": a cluster as one page for a browser.
func (env environment) writeReport(ctx context.Context) error {
	var o reportLine
	return env.about(ctx, &o, printReportHelp, func(s *catalog.Snapshot) error { return env.reportOn(s, o) })
}

func (env environment) reportOn(s *catalog.Snapshot, o reportLine) (err error) {
	if o.redact {
		if s, err = anonymous.Snapshot(s, unpredictable()); err != nil {
			return fmt.Errorf("--redact: %w", err)
		}
	}
	overview := report.Of(s)
	overview.Look(s)
	if !o.quick {
		err := overview.Ahead(s, o.computing.watch)
		if o.computing.end(); err != nil {
			return err
		}
	}
	if err := env.write(o.answerLine, func(to io.Writer) error {
		if o.format == "json" {
			return writeJSON(to, overview)
		}
		// HTML escapes what browsers obey; the rest is what turns the order of a text
		// around.
		return report.Page(plaintext.NewWriter(to), overview)
	}); err != nil {
		return err
	}
	if o.file != "-" && o.file != "" {
		notice(env.stderr, o.quiet, "%s: %s", o.file, overview.Answer.Headline())
	}
	return nil
}

func printReportHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Writes a page for a browser about a cluster: what is where, what is wrong and
what to do, what moved and failed in the last day, how long the rest takes, and
the first steps of a plan. The page is one file that loads nothing else, and can
be mailed and printed. Nothing on the cluster changes.

Usage:
  shardsh report [options] [address] -o FILE

%s
Examples:
  shardsh report mongodb://host:27017 -o report.html
  shardsh report --from cluster.snap --redact -o share.html
  shardsh report mongodb://host:27017 --json
`, cmdline.Usage(groups))
}
