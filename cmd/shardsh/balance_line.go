package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
	"shardsh/bindings/balancing"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// balanceLine is the command line of "shardsh balance".
type balanceLine struct {
	commandLine
	pace         paceLine
	json, script bool

	namespaces    []string
	goal, order   string
	seed          uint64
	takeOver, yes bool
	wait          cmdline.Duration
	interval      cmdline.Duration
}

func (o *balanceLine) groups() []cmdline.Group {
	groups := []cmdline.Group{
		cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
			f.StringArrayVar(&o.namespaces, "ns", nil, "`DB.COLLECTION` balance these; wildcards; repeat to add")
			f.StringVar(&o.goal, "goal", string(runner.Size), "`"+names(runner.Goals())+"` what is evened out")
			f.StringVar(&o.order, "order", string(runner.AsChosen),
				"`"+names(runner.Orders())+"` which move of a round begins first")
			f.Var(&o.interval, "ops-interval", "`TIME` count operations so long before each round (1m)")
			f.BoolVar(&o.takeOver, "take-over", false, "switch the cluster's own balancing of them off meanwhile")
			f.BoolVar(&o.dryRun, "dry-run", false, "print what would be done, and do nothing")
			f.BoolVar(&o.script, "script", false, "with --dry-run: as commands for mongosh")
			f.BoolVarP(&o.yes, "yes", "y", false, "don't ask")
			o.pace.flags(f)
			f.Var(&o.wait, "wait-for-lease", "`TIME` wait so long while somebody else is at work")
			f.Uint64Var(&o.seed, "seed", 0, "`N` draw lots as a mock with this seed; else catalog order")
			f.BoolVar(&o.readOnly, "read-only", false, "refuse")
			f.BoolVar(&o.json, "json", false, "a document of JSON a line: one an event, the last one the result")
			f.StringVar(&o.mock, "mock", "", "`N|FILE` a mock cluster: number of shards, or a topology file")
			f.Lookup("mock").NoOptDefVal = bareMock
			f.StringVar(&o.snapshot, "snapshot", "", "`FILE` a mock of the cluster in this file: a rehearsal")
			o.transcriptFlag(f)
			f.Var(&o.timeout, "timeout", "`TIME` stop after 90, 30s, 5m, as Ctrl-C does")
			cmdline.ChoiceVar(f, &o.quietChoice, "quiet", "no notices, no progress")
			f.BoolVarP(&o.help, "help", "h", false, "print this help")
		}),
	}
	return append(groups, o.server.Flags()...)
}

func names[T ~string](all []T) string {
	list := make([]string, len(all))
	for i, name := range all {
		list[i] = string(name)
	}
	return strings.Join(list, "|")
}

func (env environment) parseBalance(o *balanceLine, groups []cmdline.Group) error {
	words, err := env.parseWords(groups)
	if err != nil || o.help {
		return err
	}
	if len(words) > 1 {
		return usagef("balance takes one address, not also %q: collections are named by --ns", secret.Redact(words[1]))
	}
	if len(words) > 0 {
		if err := o.takeAddress(words[0]); err != nil {
			return err
		}
	}
	o.quiet = o.quietChoice.On
	return o.check()
}

func (o *balanceLine) check() error {
	_, badGoal := runner.ParseGoal(o.goal)
	_, badOrder := runner.ParseOrder(o.order)
	for _, rule := range []struct {
		broken bool
		text   string
	}{
		{badGoal != nil, fmt.Sprintf("--goal: %v", badGoal)},
		{badOrder != nil, fmt.Sprintf("--order: %v", badOrder)},
		{o.readOnly && !o.dryRun, "--read-only and balance exclude each other: --dry-run shows what would be done"},
		{o.interval != 0 && o.goal != string(runner.Ops), "--ops-interval is for --goal ops"},
		{o.script && o.goal == string(runner.Ops), "--goal ops has no --script: each round counts anew"},
		{o.script && o.json, "--script and --json exclude each other"},
		{o.script && !o.dryRun, "--script is for --dry-run"},
		{o.dryRun && o.yes, "--dry-run and --yes exclude each other"},
		{o.mock == "" && o.snapshot == "" && !o.server.Named(),
			"balance needs the address of a cluster, --mock, or --snapshot FILE"},
	} {
		if rule.broken {
			return usagef("%s", rule.text)
		}
	}
	if err := o.pace.check(); err != nil {
		return err
	}
	return o.commandLine.check()
}

// runs returns what the runner has to know, but for its gate.
func (o *balanceLine) runs(clock pace.Clock) runner.Options {
	rules := o.pace.rules()
	return runner.Options{
		Namespaces: o.namespaces, Goal: runner.Goal(o.goal), Order: runner.Order(o.order), Parallel: o.pace.parallel,
		TakeOver: o.takeOver, Clock: clock, For: rules.For, CoolDown: rules.CoolDown, Rand: balancing.Lots(o.seed),
		OpsInterval: time.Duration(o.interval),
	}
}

func (o *balanceLine) limits() plan.Limits {
	rules := o.pace.rules()
	return plan.Limits{Bytes: rules.MaxBytes, Moves: rules.MaxMoves, Time: rules.For}
}

func printBalanceHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Evens out collections with the engine of shardsh, while the cluster's own balancer
leaves them alone. Rounds are like those of the server's balancer: shards that
drain first, then chunks outside of their zones, then what is uneven. At the
prompt sh.balance() does the same.

Goals: size evens out bytes, as servers do since 6.0; chunks evens out numbers
of chunks, as servers did before; ops evens out operations, which are counted
before each round, to a tenth of a fair share. All go with any server from 4.4 on.

Without a terminal nothing is done unless --yes is given: what would be done is
printed. At a terminal it is shown, and asked about. It refuses while the
cluster's own balancer may touch the collections; with --take-over it switches
the balancing of them off and on again at the end. After a kill the next run does
that: what is off is noted in the cluster, in shardsh.leases. One run at a time
is at work on a cluster.

It ends when nothing more is to be moved, at a limit (--max-moves, --max-bytes,
--for), and when something has to be asked. Ctrl-C lets the moves under way come
to their end; a second one asks the servers to stop them; a third one leaves them
to the cluster. --json prints a document a line; the last one is the result.

Exit codes: 0 balanced, or stopped by a limit; 1 it can't go on; 2 a wrong
command line; 130, 143 interrupted.

Usage:
  shardsh balance [options] [address]

%s
Examples:
  shardsh balance mongodb://host:27017 --ns shop.orders --dry-run
  shardsh balance mongodb://host:27017 --ns 'shop.*' --take-over --max-bytes 100GB
  shardsh balance mongodb://host:27017 --ns shop.orders --yes --for 2h --json
  shardsh balance mongodb://host:27017 --ns shop.orders --goal chunks --dry-run --script
`, cmdline.Usage(groups))
}
