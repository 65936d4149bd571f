package main

import (
	"io"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/cmd/shardsh/cmdline"
)

// actionFlags are the options of the subcommands that carry a plan out.
type actionFlags struct {
	commandLine
	pace                      paceFlags
	json, yes, pauseBalancing bool
	journal, resume           string
}

func (o *actionFlags) shared() *actionFlags { return o }

// groups returns the options: those that a subcommand alone has, and those that all of
// them have. The journal is where the name in the parentheses says, unless it is named.
func (o *actionFlags) groupsWith(journal string, own func(f *pflag.FlagSet)) []cmdline.Group {
	groups := []cmdline.Group{
		cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
			own(f)
			f.BoolVarP(&o.yes, "yes", "y", false, "don't ask")
			f.StringVar(&o.journal, "journal", "", "`FILE` write down there what is done ("+journal+".journal)")
			f.StringVar(&o.resume, "resume", "", "`JOURNAL` go on with the run of this journal")
			pauseBalancingFlag(f, &o.pauseBalancing)
			f.BoolVar(&o.dryRun, "dry-run", false, "print the commands, don't send them")
			f.BoolVar(&o.readOnly, "read-only", false, "refuse to change anything")
			f.BoolVar(&o.json, "json", false, "print how it ended as JSON")
			f.StringVar(&o.mock, "mock", "", "`N|FILE` a mock cluster: number of shards, or a topology file")
			f.Lookup("mock").NoOptDefVal = mockGiven
			f.StringVar(&o.snapshot, "snapshot", "", "`FILE` a mock of the cluster in this file: a rehearsal")
			transcriptFlag(f, &o.transcript)
			f.Var(&o.timeout, "timeout", "`TIME` stop after 90, 30s, 5m; a step under way is left to the cluster")
			cmdline.ChoiceVar(f, &o.quietChoice, "quiet", "no notices, no progress")
			f.BoolVarP(&o.help, "help", "h", false, "print this help")
		}),
		cmdline.NewGroup("Pace", func(f *pflag.FlagSet) {
			o.pace.flags(f)
			hiddenAlias(f, "max-time", "for")
		}),
	}
	return append(groups, o.server.Flags()...)
}

func pauseBalancingFlag(f *pflag.FlagSet, to *bool) {
	f.BoolVar(to, "pause-balancing", false, "switch the cluster's own balancing of them off meanwhile")
	hiddenAlias(f, "take-over", "pause-balancing")
}

// hiddenAlias defines an older name of an option, which works and is not shown.
func hiddenAlias(f *pflag.FlagSet, old, name string) {
	now := f.Lookup(name)
	f.AddFlag(&pflag.Flag{Name: old, Value: now.Value, DefValue: now.DefValue, NoOptDefVal: now.NoOptDefVal, Hidden: true})
}

// rule is something that a command line must not say.
type rule struct {
	broken bool
	text   string
}

func obey(rules ...rule) error {
	for _, r := range rules {
		if r.broken {
			return usagef("%s", r.text)
		}
	}
	return nil
}

func (o *actionFlags) check(name string) error {
	if err := obey(
		rule{o.readOnly, "--read-only and " + name + " exclude each other: --dry-run shows what would be sent"},
		rule{o.dryRun && o.yes && name != "apply", "--dry-run and --yes exclude each other"},
		rule{o.mock == "" && o.snapshot == "" && !o.server.Named(),
			name + " needs the address of a cluster, --mock, or --snapshot FILE"},
	); err != nil {
		return err
	}
	return o.commandLine.check()
}

// runOptions returns what the options say.
func (o *actionFlags) runOptions() action.RunOptions {
	return action.RunOptions{
		Pace: o.pace.pace(), PauseBalancing: o.pauseBalancing, DryRun: o.dryRun, Journal: o.journal, Resume: o.resume,
	}
}

// shown is where plans go that are shown before they are carried out.
func (o *actionFlags) shown(env environment) io.Writer {
	if o.json {
		return env.warned()
	}
	return env.told()
}

// paceFlags are the options that say at which pace something moves.
type paceFlags struct {
	moves               int
	bytes               cmdline.Size
	time, between, cool cmdline.Duration
	window              windowFlag
	pauseWhen           conditionFlag
	parallel            int
	metrics             string
}

// flags returns the options of a pace.
func (o *paceFlags) flags(f *pflag.FlagSet) {
	f.IntVar(&o.moves, "max-moves", 0, "`N` end this run after so many moves")
	f.Var(&o.bytes, "max-bytes", "`SIZE` end this run before more than 10GB have moved")
	f.Var(&o.time, "for", "`TIME` begin nothing after 90, 30m, 4h; waits count")
	f.Var(&o.between, "pause-between", "`TIME` wait so long after each step")
	f.Var(&o.window, "window", "`22:00-06:00 [ZONE]` begin only then, by the cluster's clock; ZONE is UTC, +02:00, "+
		"Europe/Berlin (that of this machine)")
	f.Var(&o.pauseWhen, "pause-when",
		"`\"lag > 10s or queue > 50 or cpu > 0.8\"` begin nothing meanwhile: lag, oplog, queue, "+
			"active, connections, cache, dirty, cpu of the shards' members")
	f.StringVar(&o.metrics, "metrics", "", "`[HOST:]PORT` answer Prometheus there; without a host this machine alone")
	f.IntVar(&o.parallel, "parallel", action.DefaultParallel, "`N` moves at once, a shard in one at a time")
}

func (o *paceFlags) coolDownFlag(f *pflag.FlagSet) {
	f.Var(&o.cool, "cool-down", "`TIME` leave a range that was moved alone for 10m, 24h")
}

func (o *paceFlags) pace() action.Pace {
	return action.Pace{
		MaxMoves: o.moves, MaxBytes: o.bytes.Bytes, For: time.Duration(o.time), PauseBetween: time.Duration(o.between),
		Window: o.window.Window, PauseWhen: o.pauseWhen.Condition, Parallel: o.parallel, Metrics: o.metrics,
	}
}
