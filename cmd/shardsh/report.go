package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/anonymous"
	"shardsh/balancer/live"
	"shardsh/balancer/report"
	"shardsh/bindings/plaintext"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/targets"
)

// reportFlags are the flags of "shardsh report".
type reportFlags struct {
	outputFlags
	redact bool
	quick  bool
	heat   heatOption

	advisories string
}

func (o *reportFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.BoolVar(&o.redact, "redact", false, "replace names and key values by random ones")
		f.BoolVar(&o.quick, "quick", false, "no forecast and no plan, which take long on large clusters")
		o.heat.addFlag(f)
		addAdvisoriesFlag(f, &o.advisories)
		addTimeZoneFlag(f, &o.timeZoneName)
		o.addFlags(f, "html", "json")
	})}
	return append(append(groups, o.fleet.group()), o.sharedGroups()...)
}

func (o *reportFlags) parseArgs(env environment, words []string) error {
	if err := o.fleet.selectTargets(); err != nil {
		return err
	}
	if err := o.outputFlags.parseArgs(env, words); err != nil {
		return err
	}
	if o.fleet.isFleet() && (o.redact || o.heat.duration > 0) {
		return usagef("--redact and --heat are for the report of one cluster: add --cluster NAME")
	}
	if err := o.checkFormat("html", "json"); err != nil {
		return err
	}
	if err := o.heat.validate(o.from); err != nil {
		return err
	}
	switch {
	case o.redact && o.heat.duration > 0:
		return usagef("--redact and --heat exclude each other: keys of queries would be in it")
	case o.format == "html" && o.file == "":
		return usagef("report needs -o FILE, or -o - for standard output")
	case o.format == "html" && o.file == "-" && isTerminal(env.stdout):
		return usagef("HTML is not for a terminal: use -o FILE")
	}
	_, err := action.LoadAdvisories(o.advisories)
	return optionsUsageError(err)
}

// run implements "shardsh report": it writes a page about a cluster for a browser.
func (o *reportFlags) run(ctx context.Context, env environment) error {
	if o.fleet.isFleet() {
		return o.runFleet(ctx, env)
	}
	reads := live.ReaderOptions{Parts: live.DefaultPartsAndStatus}
	return o.withSource(ctx, env, reads, func(ctx context.Context, source action.Source, s *catalog.Snapshot) error {
		if o.heat.duration == 0 {
			return o.report(env, s, nil)
		}
		r, err := o.heat.measure(ctx, env, source, s, o.quiet.On)
		if err != nil {
			return err
		}
		var list []report.Heat
		for _, c := range r.Collections {
			list = append(list, report.NewHeat(c.Map, r.LoadKind, c.OverTime, c.Source.Missing()))
		}
		return o.report(env, s, list)
	})
}

// runFleet writes one page for all clusters, without forecasts and plans.
func (o *reportFlags) runFleet(ctx context.Context, env environment) error {
	list, err := action.LoadAdvisories(o.advisories)
	if err != nil {
		return optionsUsageError(err)
	}
	asked, err := readFleet(ctx, env, &o.sourceFlags,
		func(ctx context.Context, env environment, one *sourceFlags, _ targets.Target) (*report.Overview, error) {
			source, done, err := one.open(ctx, env)
			if err != nil {
				return nil, err
			}
			defer done()
			s, err := source.Read(ctx, live.ReaderOptions{Parts: live.DefaultPartsAndStatus})
			if err != nil {
				return nil, err
			}
			overview := report.NewOverview(s)
			overview.Answer.KnownFaults = action.KnownFaults(s, list, "")
			return overview, nil
		})
	if err != nil {
		return err
	}
	members := reportMembers(asked)
	report.SortFleet(members)
	err = o.write(env, func(to io.Writer) error {
		if o.format == "json" {
			return writeJSON(to, members)
		}
		return report.WriteFleetPage(plaintext.NewWriter(to), members, time.Now())
	})
	if err == nil && o.file != "-" && o.file != "" {
		notice(env.stderr, o.quiet.On, "%s: %s", o.file, report.FleetHeadline(members))
	}
	return cmp.Or(err, fleetError(asked))
}

// reportMembers converts the results of clusters to members of the report.
func reportMembers(asked []fleetMember[*report.Overview]) (members []report.FleetCluster) {
	for _, m := range asked {
		members = append(members, report.FleetCluster{
			Cluster: m.Name, Address: m.Location(), Labels: m.Labels, Overview: m.answer, Error: m.errText(),
		})
	}
	return members
}

func (o *reportFlags) report(env environment, s *catalog.Snapshot, load []report.Heat) (err error) {
	if o.redact {
		if s, err = anonymous.Snapshot(s, randomSource()); err != nil {
			return fmt.Errorf("--redact: %w", err)
		}
	}
	overview := report.NewOverview(s)
	overview.AddMaps(s)
	overview.Heat = load
	list, err := action.LoadAdvisories(o.advisories)
	if err != nil {
		return optionsUsageError(err)
	}
	overview.Answer.KnownFaults = action.KnownFaults(s, list, "")
	if !o.quick {
		err := overview.AddForecastsAndPlan(s, o.progress.onSimulation)
		if o.progress.clearLine(); err != nil {
			return err
		}
	}
	if err := o.write(env, func(to io.Writer) error {
		if o.format == "json" {
			return writeJSON(to, overview)
		}
		// HTML escapes what browsers interpret; this writer also escapes characters that change the
		// direction of text.
		return report.WritePage(plaintext.NewWriter(to), overview)
	}); err != nil {
		return err
	}
	if o.file != "-" && o.file != "" {
		notice(env.stderr, o.quiet.On, "%s: %s", o.file, overview.Answer.Headline())
	}
	return nil
}

func reportText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Writes an HTML report about a cluster: what is where, what is wrong and what to do,
what moved and failed in the last day, how long the rest takes, and the first steps
of a plan. The page is one file that loads nothing else, and can be mailed and
printed. Nothing on the cluster changes.`,
		Examples: []string{
			"shardsh report mongodb://host:27017 -o report.html",
			"shardsh report --from cluster.snap --redact -o share.html",
			"shardsh report mongodb://host:27017 --heat 1m -o report.html",
			"shardsh report mongodb://host:27017 --json",
			"shardsh report --targets fleet.yaml -o fleet.html",
		},
	}
}
