package sh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"shardsh/balancer/apply"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/bindings/applying"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

const applyOptions = "journal,resume,onChange,takeOver,pauseBalancing,parallel,maxTime,dryRun,progress," + paceNames

// shardApplyMethods() carry plans out.
func shardApplyMethods() []helper {
	return []helper{
		{"apply", "plan?:string|object options?:object{" + applyOptions + "}", checked(shApply),
			"Carries out a plan of sh.plan(), or of a file, and writes down in a journal what it does; {resume: journal} goes " +
				"on after a stop or a kill; {journal, onChange: \"replan\", takeOver, parallel, maxBytes, maxMoves, for, " +
				"pauseBetween, window: \"22:00-06:00 UTC\", pauseWhen: \"lag > 10s\", dryRun, progress}, times in ms or as " +
				"\"1h30m\"."},
		{"undo", "journal:string", checked(shUndo),
			"Returns the plan that takes back what a journal of sh.apply() tells of: sh.apply(sh.undo(journal))."},
	}
}

func shUndo(c *call, _ *Helpers) goja.Value {
	path := c.Text(0)
	c.mayRead(path)
	h, err := apply.LoadJournal(path)
	if err != nil {
		c.JS.Throw(script.RuntimeError, "%s", err)
	}
	p, err := apply.Undo(h)
	if err != nil {
		c.JS.Throw(script.RuntimeError, "%s: %s", path, err)
	}
	return c.s.planObject(p)
}

func (c *call) mayRead(path string) {
	if err := c.s.Sandbox.MayRead(path); err != nil {
		c.JS.Throw(script.RuntimeError, "%s", err)
	}
}

// shApply carries a plan out, and returns how it ended.
func shApply(c *call, sh *Helpers) goja.Value {
	at := 1
	if first := c.Object(0); first != nil && script.Property(first, "steps") == nil { // options alone
		at = 0
	}
	o := c.options("apply", at)
	options := c.applyOptions(o)
	rules := o.pace()
	rules.For = o.duration("maxTime", rules.For)
	return c.carryOut(sh, o, errand{
		options: options, rules: rules, open: func() *apply.Execution { return c.work(o, at, options.DryRun) },
	})
}

// errand is what a helper has carried out.
type errand struct {
	options apply.Options
	rules   pace.Rules
	// open opens the work and its journal.
	open func() *apply.Execution
	// besides returns what is done before the first step and after the last one; nil
	// does nothing.
	besides func(*applying.Turn) (before, after func(context.Context) error)
	// aims tells that there is a goal to reach, and not only steps.
	aims bool
}

// carryOut takes the turn, carries work out and returns how that ended.
func (c *call) carryOut(sh *Helpers, o helperOptions, e errand) *goja.Object {
	progress := c.s.Display.Progress(o.flag("progress", true))
	defer progress.End()
	options, rules := e.options, e.rules
	teller := applying.Teller{Progress: progress, Note: c.JS.Out.Warn}
	if options.DryRun {
		rules.PauseWhen = nil // nothing waits
	}
	var away func()
	options.Pace, away = c.gate(sh.current().Conn, rules, teller)
	defer away()
	teller.Gate = options.Pace
	options.Tell = teller.Tell
	tick, still := applying.Ticks(progress, script.OnWallClock(c.JS.Clock))
	defer still()
	options.Tick = tick
	work := e.open()
	seen := &commands{CommandRunner: c.s.commandRunner(sh), keep: o.flag("dryRun", false)}
	ctx := c.JS.Context()
	doing := "sh." + o.helper + " " + work.Plan.ID
	turn, err := applying.TakeTurn(ctx, sh.current().Conn.Client, seen, doing, options.DryRun)
	if err != nil {
		_ = work.Close() // nothing was written
		if errors.As(err, new(*live.HeldError)) {
			c.JS.Throw(script.RuntimeError, "%s", err)
		}
		c.s.Gateway.Throw(err)
	}
	hard, leave := c.grace(ctx)
	defer leave()
	options.Hard = hard
	if e.besides != nil {
		options.Ready, options.Finish = e.besides(turn)
	}
	result, err := turn.Run(ctx, applying.Errand{Work: work, Options: options, Note: c.JS.Out.Warn})
	if closed := work.Close(); err == nil {
		err = closed
	}
	if err == nil && e.aims && !options.DryRun {
		err = applying.Unreached(result)
	}
	journal := ""
	if work.Acted() {
		journal = work.Path()
	}
	report := applying.ReportOf(result, err, journal, options.DryRun)
	again := ""
	if journal != "" && !report.Finished {
		again = fmt.Sprintf(" To go on: sh.apply({ resume: %q }); to take it back: sh.apply(sh.undo(%q)).", journal, journal)
	}
	switch {
	case err != nil:
		c.JS.Throw(script.RuntimeError, "%s%s", err, again)
	case ctx.Err() != nil:
		c.JS.Out.Warn(report.Text() + again)
	}
	object := c.s.fromJSON(report)
	if seen.keep {
		script.Must(object.Set("commands", c.s.documents(seen.sent)))
	}
	return object
}

// leaveAfter is how long a step under way may go on after Ctrl-C, before it is
// left to the cluster: going on finds out what became of it.
const leaveAfter = 3 * time.Second

// grace returns a context that ends a while after another one.
func (c *call) grace(ctx context.Context) (hard context.Context, leave func()) {
	hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(leaveAfter, cancel) })
	return hard, func() {
		stop()
		cancel()
	}
}

// work is what the arguments ask for: a journal to go on with, or a plan.
func (c *call) work(o helperOptions, at int, dry bool) *apply.Execution {
	if path := o.text("resume"); path != "" {
		if at > 0 && c.Has(0) && !goja.IsNull(c.Arg(0)) {
			c.JS.ThrowInvalid("sh.apply takes a plan, or { resume: journal } alone: the journal has its plan")
		}
		c.mayWrite(path)
		return c.opened(apply.Resume(path))
	}
	return c.begun(o, c.planArgument(at), dry)
}

// begun opens the journal of a plan, where one is to be kept.
func (c *call) begun(o helperOptions, p *plan.Plan, dry bool) *apply.Execution {
	path := o.text("journal")
	switch none := o.o != nil && goja.IsNull(o.o.Get("journal")); {
	case p.Goal.Kind == plan.Undo:
		c.mayWrite(p.Undoes)
	case dry, none:
		path = ""
	case path != "":
		c.mayWrite(path)
	case c.s.Sandbox.MayWrite() == nil:
		path = p.ID + ".journal"
	}
	return c.opened(apply.Begin(p, path))
}

func (c *call) opened(w *apply.Execution, err error) *apply.Execution {
	if err != nil {
		c.JS.Throw(script.RuntimeError, "%s", err)
	}
	return w
}

func (c *call) mayWrite(path string) {
	if err := c.s.Sandbox.MayWrite(); err != nil {
		c.JS.Throw(script.RuntimeError, "%s: %s", path, err)
	}
}

// planArgument is the first argument: a plan, or the file of one.
func (c *call) planArgument(at int) *plan.Plan {
	if at == 0 || !c.Has(0) || goja.IsNull(c.Arg(0)) {
		c.JS.ThrowInvalid("sh.apply needs a plan of sh.plan(), the file of one, or { resume: journal }")
	}
	if goja.IsString(c.Arg(0)) {
		path := c.Text(0)
		c.mayRead(path)
		file, err := os.Open(path)
		if err != nil {
			c.JS.Throw(script.RuntimeError, "%s", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		p, err := plan.Read(file)
		if err != nil {
			c.JS.Throw(script.RuntimeError, "%s: %s", path, err)
		}
		return p
	}
	p, err := c.s.PlanOf(c.Arg(0))
	if err != nil {
		c.JS.ThrowInvalid("sh.apply: %s", err)
	}
	return p
}

func (c *call) applyOptions(o helperOptions) apply.Options {
	change := apply.OnChange(o.text("onChange"))
	if change != "" && change != apply.Refuse && change != apply.Replan {
		o.refuse("onChange", `"refuse" or "replan"`, c.s.Display.Inspect(o.get("onChange")))
	}
	return apply.Options{
		OnChange: change, PauseBalancing: o.flag("takeOver", o.flag("pauseBalancing", false)),
		Parallel: int(o.count("parallel")),
		DryRun:   o.flag("dryRun", false) || c.s.Gateway.Guarded(), Clock: c.JS.Clock,
	}
}

// commandRunner sends commands past the guard where there is one; else by the driver's
// client, which several steps may use at once.
func (s *Host) commandRunner(sh *Helpers) live.CommandRunner {
	if s.Gateway.Guarded() {
		return sh.commandRunner()
	}
	return s.Gateway.Confirmed(live.NewCommandRunner(sh.current().Conn.Client))
}

// commands keeps what would be sent in place of sending it, in a dry run that
// nobody else makes one.
type commands struct {
	live.CommandRunner
	keep bool
	sent []bson.Raw
}

// Ask answers what changes something by itself.
func (a *commands) RunCommand(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	if !a.keep || !live.Changes(command[0].Key) {
		return a.CommandRunner.RunCommand(ctx, database, command)
	}
	raw, err := bson.Marshal(command)
	if err != nil {
		return nil, err
	}
	a.sent = append(a.sent, raw)
	return bson.Marshal(bson.D{{Key: "ok", Value: 1.0}, {Key: "dryRun", Value: true}})
}

func (s *Host) documents(list []bson.Raw) goja.Value {
	items := make([]any, len(list))
	for i, doc := range list {
		items[i] = s.JS.World.DocToJS(doc)
	}
	return s.JS.Runtime.NewArray(items...)
}
