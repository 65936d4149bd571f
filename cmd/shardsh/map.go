package main

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/report"
	"shardsh/bindings/display"
	"shardsh/bindings/findings"
	"shardsh/cmd/shardsh/cmdline"
)

// mapFlags are the flags of "shardsh map".
type mapFlags struct {
	outputFlags
	ns    string
	width int
	heat  heatOption
}

func (o *mapFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringVar(&o.ns, "ns", "", "`DB.COLLECTION` draw this collection")
		f.IntVar(&o.width, "width", 0, "`COLUMNS` width of the drawing (default: the terminal's, or 80)")
		o.heat.addFlag(f)
		addTimeZoneFlag(f, &o.timeZoneName)
		o.addFlags(f, "text", "json")
	})}
	return append(groups, o.sharedGroups()...)
}

func (o *mapFlags) parseArgs(env environment, words []string) error {
	if err := o.outputFlags.parseArgs(env, words); err != nil {
		return err
	}
	if o.ns == "" {
		return usagef("--ns DB.COLLECTION is required")
	}
	if o.width < 0 {
		return usagef("--width takes a number of columns, not %d", o.width)
	}
	if err := o.heat.validate(o.from); err != nil {
		return err
	}
	return o.checkFormat("text", "json")
}

// run implements "shardsh map": it draws the chunks of a collection.
func (o *mapFlags) run(ctx context.Context, env environment) error {
	reads := live.ReaderOptions{Parts: live.MapParts, Namespaces: []string{o.ns}}
	return o.withSource(ctx, env, reads, func(ctx context.Context, source action.Source, s *catalog.Snapshot) error {
		if err := diagnosis.CheckScope(s, diagnosis.Scope{Namespace: o.ns}); err != nil {
			return findings.WithSuggestion(err)
		}
		if o.heat.duration == 0 {
			return o.draw(env, s, nil)
		}
		r, err := o.heat.measure(ctx, env, source, s, o.quiet.On, o.ns)
		if err != nil {
			return err
		}
		return o.draw(env, s, &r.Collections[0])
	})
}

func (o *mapFlags) draw(env environment, s *catalog.Snapshot, load *action.CollectionHeat) error {
	onScreen := o.file == "" && o.format == "text"
	look := display.MapOptions{
		Width: cmp.Or(o.width, env.columns(), display.DefaultWidth), Color: onScreen && env.usesColor(),
	}
	c := s.Collection(o.ns)
	m := report.NewChunkMap(c, c.ChunkSize(s.Settings()), look.CellCount(int(c.Count().Chunks)))
	if load != nil {
		m.AddHeat(load.Map)
		for _, text := range load.Source.Missing() {
			notice(env.stderr, o.quiet.On, "Note: %s", text)
		}
	}
	show := func(to io.Writer) error {
		if o.format == "json" {
			return writeJSON(to, m)
		}
		_, err := io.WriteString(to, display.DrawMap(m, look))
		return err
	}
	if onScreen {
		return writeBuffered(env.stdout, show) // names are already escaped, and colours have to stay
	}
	return o.write(env, show)
}

func mapText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Draws the chunks of a collection in the order of its shard key: each shard has a
letter and a colour, widths are bytes where sizes are known. Zones are above, jumbo
chunks are marked below, and each shard has a line that says what it has and where.
Nothing on the cluster changes. At the prompt, sh.map(ns) draws the same.`,
		Usage: []string{"shardsh map --ns DB.COLLECTION [options] [address]"},
		Examples: []string{
			"shardsh map --ns shop.orders mongodb://host:27017",
			"shardsh map --ns shop.orders --from cluster.snap --width 200",
			"shardsh map --ns shop.orders mongodb://host:27017 --heat 10s",
			"shardsh map --ns shop.orders --from cluster.snap --json",
		},
	}
}
