package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/pace"
	"shardsh/cmd/shardsh/cmdline"
)

// changeFlags are the flags of the subcommands that change a cluster.
type changeFlags struct {
	clusterFlags
	commonFlags
	safetyFlags
	pace                      paceFlags
	traces                    traceFlags
	json, yes, pauseBalancing bool
	preflight                 bool
	despite                   []string
	advisories                string
}

func (o *changeFlags) addFlags(f *pflag.FlagSet, dryRun, json string) {
	f.BoolVarP(&o.yes, "yes", "y", false, "don't ask for confirmation")
	f.BoolVar(&o.pauseBalancing, "pause-balancing", false,
		"disable the cluster's balancing of these collections meanwhile")
	cmdline.Alias(f, "take-over", "pause-balancing")
	f.BoolVar(&o.preflight, "preflight", false, "print the obstacles with remedies, change nothing")
	f.StringSliceVar(&o.despite, "despite", nil, "`CODE` begin although the preflight found this; repeat to add")
	addAdvisoriesFlag(f, &o.advisories)
	f.BoolVar(&o.dryRun, "dry-run", false, dryRun)
	f.BoolVar(&o.readOnly, "read-only", false, "refuse to change anything")
	f.BoolVar(&o.json, "json", false, json)
	o.addTranscriptFlag(f)
	cmdline.DurationVar(f, &o.timeout, "timeout", "`TIME` stop after 90, 30s, 5m; a step under way is left to the cluster")
	cmdline.OptionalBoolVar(f, &o.quiet, "quiet", "no notices, no progress")
}

// sharedGroups returns the options that have their own help pages.
func (o *changeFlags) sharedGroups(more ...func(*pflag.FlagSet)) []cmdline.Group {
	groups := append([]cmdline.Group{o.pace.group(more...), o.traces.group(), o.consentGroup()}, o.server.Flags()...)
	return append(groups, mockGroup(o.addMockFlag, o.addSnapshotFlag))
}

// takeAddressWord parses the words of the command line; one of them may be an address.
func (o *changeFlags) takeAddressWord(env environment, words []string, hint string) error {
	if err := o.takeCluster(env, words, hint); err != nil {
		return err
	}
	return o.traces.check()
}

func (o *changeFlags) connect(ctx context.Context, env environment) (*connection, error) {
	return connect(ctx, env, &o.clusterFlags,
		connectOptions{safetyMode: o.mode(), quiet: !o.quiet.Given || o.quiet.On})
}

// planActionFlags are the flags of the subcommands that apply a plan.
type planActionFlags struct {
	changeFlags
	journal, resume string
	forceJumbo      bool
	verify          action.RunVerifyOptions
}

// groupsWith returns the subcommand's own options and those that all of these subcommands have. journal
// is the default base name of the journal file.
func (o *planActionFlags) groupsWith(journal string, own func(f *pflag.FlagSet)) []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		own(f)
		f.StringVar(&o.journal, "journal", "", "`FILE` journal of what is done ("+journal+".journal)")
		f.StringVar(&o.resume, "resume", "", "`JOURNAL` resume the run of this journal")
		addForceJumboFlag(f, &o.forceJumbo)
		cmdline.ParsedVar(f, &o.verify, "verify",
			"`SIZE` read all before and after, at most SIZE a second, to prove no loss", parseVerify)
		f.Lookup("verify").NoOptDefVal = "none"
		o.addFlags(f, "print the commands, don't send them", "print the result as JSON")
	})}
	return append(groups, o.sharedGroups()...)
}

func addForceJumboFlag(f *pflag.FlagSet, o *bool) {
	f.BoolVar(o, "force-jumbo", false, "move large chunks of one key by force: blocks writes meanwhile")
}

func (o *planActionFlags) planActionOptions() *planActionFlags { return o }

// check validates the option combinations of a verb.
func (o *planActionFlags) check(name string, a planAction) error {
	if err := firstViolation(
		constraint{o.readOnly && !o.preflight,
			"--read-only and " + name + " exclude each other: --dry-run shows what would be sent"},
		constraint{o.dryRun && o.yes && name != "apply", "--dry-run and --yes exclude each other"},
	); err != nil {
		return err
	}
	return optionsUsageError(a.Validate())
}

// runOptions returns the options of the run.
func (o *planActionFlags) runOptions() action.RunOptions {
	return action.RunOptions{
		Pace: o.pace.pace(), PauseBalancing: o.pauseBalancing, DryRun: o.dryRun, Journal: o.journal, ResumeJournal: o.resume,
		ForceJumbo: o.forceJumbo, PreflightOptions: o.preflightOptions(), RunVerifyOptions: o.verify,
	}
}

// parseVerify parses the maximum number of bytes a second, or none.
func parseVerify(text string) (v action.RunVerifyOptions, err error) {
	v.Verify = true
	if text != "none" {
		v.VerifyBytesPerSecond, err = catalog.ParseSize(text)
	}
	return v, err
}

// preflightOptions returns the options of the preflight.
func (o *changeFlags) preflightOptions() action.PreflightOptions {
	return action.PreflightOptions{PreflightOnly: o.preflight, IgnoreObstacles: o.despite, AdvisoriesFile: o.advisories}
}

// planOutput returns the output for plans that are printed before they are applied.
func (o *planActionFlags) planOutput(env environment) io.Writer { return changesOut(env, o.json) }

// paceFlags are the options that limit the rate of moves.
type paceFlags struct {
	maxMoves                        int
	maxBytes                        int64
	maxTime, pauseBetween, coolDown time.Duration
	window                          *pace.Window
	timeZone                        string
	pauseWhen                       *pace.Condition
	diskLimit                       float64
	parallel                        int
	metricsAddress                  string
}

// group returns the options that limit the pace, and additional ones.
func (o *paceFlags) group(more ...func(*pflag.FlagSet)) cmdline.Group {
	return cmdline.NewGroup("Pace", func(f *pflag.FlagSet) {
		cmdline.ParsedVar(f, &o.maxMoves, "max-moves", "`N|none` stop after N moves (1000)", action.ParseMaxMoves)
		cmdline.ParsedVar(f, &o.maxBytes, "max-bytes", "`SIZE|none` stop before more than SIZE have moved (100GB)",
			action.ParseMaxBytes)
		cmdline.DurationVar(f, &o.maxTime, "for", "`TIME` start no step after 90, 30m, 4h, waits included")
		cmdline.Alias(f, "max-time", "for")
		cmdline.DurationVar(f, &o.pauseBetween, "pause-between", "`TIME` wait after each step")
		addWindowFlag(f, &o.window, "start steps only then, by the cluster's clock; ZONE: UTC, +02:00, "+
			"Europe/Berlin (default: this machine's)")
		addTimeZoneFlag(f, &o.timeZone)
		cmdline.ParsedVar(f, &o.pauseWhen, "pause-when",
			"`\"lag > 10s or queue > 50 or cpu > 0.8\"` start no step while this holds: lag, oplog, queue, "+
				"active, connections, cache, dirty, cpu, majority-lag, disk, deletions, orphans of the shards' members; "+
				"config.queue and the like of the config servers", pace.ParseCondition)
		addDiskLimitFlag(f, &o.diskLimit)
		f.StringVar(&o.metricsAddress, "metrics", "",
			"`[HOST:]PORT` serve metrics for Prometheus; without HOST on this machine only")
		f.IntVar(&o.parallel, "parallel", action.DefaultParallel,
			"`N` parallel moves; each shard takes part in one at a time")
		for _, add := range more {
			add(f)
		}
	}).OnPage("pace", "Pace")
}

func (o *paceFlags) addCoolDownFlag(f *pflag.FlagSet) {
	cmdline.DurationVar(f, &o.coolDown, "cool-down", "`TIME` balance only: don't move a range again for 10m, 24h")
}

func (o *paceFlags) pace() action.Pace {
	return action.Pace{
		MaxMoves: o.maxMoves, MaxBytes: o.maxBytes, MaxDuration: o.maxTime, PauseBetween: o.pauseBetween,
		Window: o.window, TimeZone: o.timeZone, PauseWhen: o.pauseWhen, Parallel: o.parallel,
		MetricsAddress: o.metricsAddress, DiskLimit: o.diskLimit,
	}
}
