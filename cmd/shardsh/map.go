package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/report"
	"shardsh/bindings/display"
	"shardsh/cmd/shardsh/cmdline"
)

// mapLine is the command line of "shardsh map".
type mapLine struct {
	answerLine
	ns    string
	width int
}

func (o *mapLine) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringVar(&o.ns, "ns", "", "`DB.COLLECTION` the collection to draw")
		f.IntVar(&o.width, "width", 0, "`COLUMNS` of the drawing; those of the terminal, or 80")
		o.flags(f, "text", "json")
	})}
	return append(groups, o.server.Flags()...)
}

func (o *mapLine) settle(environment) error {
	if o.ns == "" {
		return usagef("--ns says which collection to draw: --ns shop.orders")
	}
	if o.width < 0 {
		return usagef("--width takes a number of columns, not %d", o.width)
	}
	return o.checkFormat("text", "json")
}

func (o *mapLine) reads() live.ReaderOptions {
	return live.ReaderOptions{Parts: live.Current, Namespaces: []string{o.ns}}
}

// drawMap is "shardsh map": the chunks of a collection.
func (env environment) drawMap(ctx context.Context) error {
	var o mapLine
	return env.about(ctx, &o, printMapHelp, func(s *catalog.Snapshot) error {
		if err := diagnosis.Check(s, diagnosis.Scope{Namespace: o.ns}); err != nil {
			return suggesting(err)
		}
		return env.writeMap(o, s)
	})
}

func (env environment) writeMap(o mapLine, s *catalog.Snapshot) error {
	onScreen := o.file == "" && o.format == "text"
	look := display.MapOptions{
		Width: cmp.Or(o.width, env.columns(), display.Width), Color: onScreen && env.color(),
	}
	c := s.Collection(o.ns)
	m := report.MapOf(c, s.Settings().MaxChunkSizeBytes, look.Cells(int(c.Count().Chunks)))
	show := func(to io.Writer) error {
		if o.format == "json" {
			return writeJSON(to, m)
		}
		_, err := io.WriteString(to, display.DrawMap(m, look))
		return err
	}
	if onScreen {
		return buffered(env.stdout, show) // its names are escaped, and its colours are to stay
	}
	return env.write(o.answerLine, show)
}

func printMapHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Draws the chunks of a collection in the order of its shard key: each shard has
a letter and a colour, widths are bytes where their sizes are known. Zones are
above, jumbo chunks are marked below, and each shard has a line that tells what
it has and where. Nothing on the cluster changes. At the prompt sh.map(ns) draws
the same.

Usage:
  shardsh map --ns DB.COLLECTION [options] [address]

%s
Examples:
  shardsh map --ns shop.orders mongodb://host:27017
  shardsh map --ns shop.orders --from cluster.snap --width 200
  shardsh map --ns shop.orders --from cluster.snap --json
`, cmdline.Usage(groups))
}
