package main

import (
	"context"
	"fmt"
	"time"
	_ "time/tzdata" // windows name time zones, and not every machine knows them

	"github.com/spf13/pflag"

	"shardsh/balancer/live"
	"shardsh/balancer/pace"
	"shardsh/bindings/applying"
	"shardsh/cmd/shardsh/cmdline"
)

// paceLine is the part of a command line that says at which pace something moves.
type paceLine struct {
	moves           int
	bytes           cmdline.Size
	time, pause     cmdline.Duration
	coolDown        cmdline.Duration
	window          windowFlag
	pauseWhen       conditionFlag
	parallel        int
	metrics         string
	withoutCoolDown bool // nothing is chosen anew
}

// flags returns the options of a pace.
func (o *paceLine) flags(f *pflag.FlagSet) {
	f.IntVar(&o.moves, "max-moves", 0, "`N` end this run after so many moves")
	f.Var(&o.bytes, "max-bytes", "`SIZE` end this run before more than 10GB have moved")
	f.Var(&o.time, "for", "`TIME` begin nothing after 90, 30m, 4h; waits count")
	f.Var(&o.pause, "pause-between", "`TIME` wait so long after each step")
	f.Var(&o.window, "window", "`22:00-06:00 [ZONE]` begin only then, by the cluster's clock; ZONE is UTC, +02:00, "+
		"Europe/Berlin (that of this machine)")
	f.Var(&o.pauseWhen, "pause-when",
		"`\"lag > 10s or queue > 50 or cpu > 0.8\"` begin nothing meanwhile: lag, oplog, queue, "+
			"active, connections, cache, dirty, cpu of the shards' members")
	if !o.withoutCoolDown {
		f.Var(&o.coolDown, "cool-down", "`TIME` leave a range that was moved alone for 10m, 24h")
	}
	f.StringVar(&o.metrics, "metrics", "", "`[HOST:]PORT` answer Prometheus there; without a host this machine alone")
	f.IntVar(&o.parallel, "parallel", 1, "`N` moves at once, a shard in one at a time")
}

// check refuses what makes no sense.
func (o *paceLine) check() error {
	switch {
	case o.parallel < 1:
		return usagef("--parallel is %d, and begins with 1", o.parallel)
	case o.moves < 0:
		return usagef("--max-moves is %d, and can't be negative", o.moves)
	}
	return nil
}

// rules returns what the options say.
func (o *paceLine) rules() pace.Rules {
	return pace.Rules{
		MaxMoves: o.moves, MaxBytes: o.bytes.Bytes, For: time.Duration(o.time), Pause: time.Duration(o.pause),
		CoolDown: time.Duration(o.coolDown), Window: o.window.Window,
		PauseWhen: o.pauseWhen.Condition,
	}
}

// gate returns what lets the steps of a run begin, and ends its connections. A dry
// run waits for nobody.
func (o *paceLine) gate(
	ctx context.Context, conn *connection, clock pace.Clock, dry bool, waits func(pace.Event),
	holder func() (live.Holder, bool),
) (*pace.Gate, func(), error) {
	rules := o.rules()
	if dry {
		rules.PauseWhen = nil
	}
	look, leave, err := applying.Members(ctx, conn.client, conn.settings, rules)
	if err != nil {
		return nil, nil, err
	}
	gate := applying.Pace(conn.client, rules, clock, waits, look)
	if o.metrics == "" {
		return gate, leave, nil
	}
	at, stop, err := applying.ServeMetrics(ctx, o.metrics, applying.Vitals{Stats: gate.Stats, Holder: holder})
	if err != nil {
		leave()
		return nil, nil, err
	}
	waits(pace.Event{Text: fmt.Sprintf("metrics are at http://%s/metrics", at)})
	return gate, func() {
		stop()
		leave()
	}, nil
}

// windowFlag is a time of the day in which moves begin; nil is always.
type windowFlag struct{ *pace.Window }

func (w *windowFlag) String() string { return "" }
func (w *windowFlag) Type() string   { return "window" }

func (w *windowFlag) Set(text string) (err error) {
	w.Window, err = pace.ParseWindow(text, pace.MachineZone())
	return err
}

// conditionFlag is when nothing begins; nil is never.
type conditionFlag struct{ *pace.Condition }

func (c *conditionFlag) String() string { return "" }
func (c *conditionFlag) Type() string   { return "condition" }

func (c *conditionFlag) Set(text string) (err error) {
	c.Condition, err = pace.ParseCondition(text)
	return err
}
