package sh

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/action"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/preflight"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/findings"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

// paceOptionNames are the options of helpers that move data, all of which accept limits on their pace.
const paceOptionNames = "maxMoves,maxBytes,for,pauseBetween,window,timeZone,pauseWhen,diskLimit"

// runOptionNames are the options of helpers that apply a plan.
const runOptionNames = "pauseBalancing,forceJumbo,parallel,journal,resume,dryRun,verify," +
	preflightOptionNames + "," + paceOptionNames

// preflightOptionNames are the options of the checks before a run.
const preflightOptionNames = "preflight,despite,advisories"

// runOptionsHelp describes these options in the help of helpers that otherwise let the cluster's
// balancer do the work.
const runOptionsHelp = "With any of " +
	"{pauseBalancing, forceJumbo, parallel, maxMoves, maxBytes, for, pauseBetween, window, timeZone, pauseWhen, " +
	"diskLimit, journal, resume, verify, dryRun, preflight, despite, advisories} shardsh's own engine does it by plan, " +
	"at that pace, and returns its result, like sh.apply()."

// hasRunOption reports whether an option of a run was given. In that case, it throws for options that
// only apply to the balancer.
func (h helperOptions) hasRunOption(others ...string) bool {
	var given string
	for _, name := range strings.Split(runOptionNames, ",") {
		if h.isGiven(name) {
			given = name
		}
	}
	if given == "" {
		return false
	}
	h.refuseBalancerOptions(given, others)
	return true
}

// refuseBalancerOptions throws for options that only apply to the balancer, because with what is given shardsh's own
// engine runs.
func (h helperOptions) refuseBalancerOptions(given string, names []string) {
	for _, name := range names {
		if h.value(name) != nil {
			h.call.JS.ThrowInvalid("sh.%s: option %s is for the cluster's balancer; with %s shardsh's own engine "+
				"runs, whose time limit is the option \"for\"", h.helper, name, given)
		}
	}
}

// pace returns the options that limit the pace of a run.
func (h helperOptions) pace() action.Pace {
	p := action.Pace{
		MaxMoves: int(
			h.limitOption("maxMoves", h.count),
		),
		MaxBytes:     h.limitOption("maxBytes", h.size),
		MaxDuration:  h.duration("for", 0),
		PauseBetween: h.duration("pauseBetween", 0),
		Parallel:     action.DefaultParallel,
		TimeZone:     h.text("timeZone"),
		DiskLimit:    h.shareOption("diskLimit"),
	}
	if h.value("parallel") != nil {
		p.Parallel = int(h.count("parallel"))
	}
	var err error
	if text := h.text("window"); text != "" {
		if p.Window, err = pace.ParseWindow(text, pace.LocalLocation()); err != nil {
			h.call.JS.ThrowInvalid("sh.%s: %s", h.helper, err)
		}
	}
	if text := h.text("pauseWhen"); text != "" {
		if p.PauseWhen, err = pace.ParseCondition(text); err != nil {
			h.call.JS.ThrowInvalid("sh.%s: %s", h.helper, err)
		}
	}
	return p
}

// shareOption returns a share, such as "85%" or 0.85.
func (h helperOptions) shareOption(name string) float64 {
	v := h.value(name)
	if v == nil {
		return 0
	}
	share, err := pace.ParseShare(v.String())
	if err != nil {
		h.call.JS.ThrowInvalid("sh.%s: option %s: %s", h.helper, name, err)
	}
	return share
}

// limitOption returns a limit that has a default; 0 and "none" disable the limit.
func (h helperOptions) limitOption(name string, read func(name string) int64) int64 {
	v := h.value(name)
	if v == nil {
		return 0
	}
	if v.String() == "none" {
		return action.NoLimit
	}
	if n := read(name); n != 0 {
		return n
	}
	return action.NoLimit
}

// runOptions returns the options for applying a plan. Scripts that may not write files keep no journal.
func (c *call) runOptions(h helperOptions) action.RunOptions {
	e := action.RunOptions{
		Pace: h.pace(), PauseBalancing: h.flag("pauseBalancing", false), DryRun: h.flag("dryRun", false),
		ForceJumbo: h.flag("forceJumbo", false), PreflightOptions: c.preflightOptions(h),
		Journal: h.text("journal"), ResumeJournal: h.text("resume"), RunVerifyOptions: h.verifyOption(),
	}
	for _, path := range []string{e.Journal, e.ResumeJournal} {
		if path != "" {
			c.checkMayWrite(path)
		}
	}
	e.NoJournal = h.isNull("journal") || e.Journal == "" && c.host.Sandbox.CheckWrite() != nil
	return e
}

// verifyOption parses {verify: true}, or {verify: N} with the maximum number of bytes to read a second.
func (h helperOptions) verifyOption() (p action.RunVerifyOptions) {
	switch v := h.value("verify"); {
	case v == nil:
	case script.TypeOf(v) == "boolean":
		p.Verify = v.ToBoolean()
	default:
		p = action.RunVerifyOptions{Verify: true, VerifyBytesPerSecond: h.size("verify")}
	}
	return p
}

// preflightOptions returns the options of the preflight.
func (c *call) preflightOptions(h helperOptions) action.PreflightOptions {
	return action.PreflightOptions{
		PreflightOnly: h.flag("preflight", false), IgnoreObstacles: h.texts("despite"), AdvisoriesFile: c.advisoriesPath(h),
	}
}

// advisoriesPath returns the option that names a file of advisories.
func (c *call) advisoriesPath(h helperOptions) string {
	path := h.text("advisories")
	if path != "" {
		c.checkMayRead(path)
	}
	return path
}

// texts returns an option that is a string or an array of strings.
func (h helperOptions) texts(name string) (list []string) {
	v := h.value(name)
	o, ok := v.(*goja.Object)
	if v == nil || !ok {
		if text := h.text(name); text != "" {
			list = append(list, text)
		}
		return list
	}
	for _, key := range o.Keys() {
		list = append(list, o.Get(key).String())
	}
	return list
}

// preflightObject returns a preflight report for scripts.
func (h *Host) preflightObject(r preflight.Report) *goja.Object {
	text := findings.PreflightText(r, func(option string) string { return option })
	return h.printableObject(r, text).ToObject(h.JS.Runtime)
}

// cluster returns the cluster for actions.
func (c *call) cluster(sh *Helpers) action.Cluster {
	conn := sh.current().Conn
	return action.Cluster{
		Client: conn.Client, ClientOptions: conn.ClientOptions, Address: conn.Address, ChangeRunner: c.host.commandRunner(sh),
		SimulatesChanges: c.host.Gateway.HasGuard(), Clock: c.JS.Clock, Consent: c.host.Consent,
	}
}

// commandRunner returns a runner that uses the guard if there is one. Otherwise, it uses the driver's
// client directly, which supports concurrent steps.
func (h *Host) commandRunner(sh *Helpers) live.CommandRunner {
	if h.Gateway.HasGuard() {
		return sh.commandRunner()
	}
	return h.Gateway.WithConfirmation(live.NewCommandRunner(sh.current().Conn.Client))
}

// newReporter returns a reporter that shows an action's events, and a control with which Ctrl-C ends
// the action, until leave is called.
func (c *call) newReporter(h helperOptions) (r *actiontext.Reporter, control action.Control, stop func()) {
	r = &actiontext.Reporter{Progress: c.host.Display.NewProgress(h.flag("progress", true)), Note: c.JS.Out.Warn}
	tick, still := actiontext.Ticks(r.Progress, script.IsWallClock(c.JS.Clock))
	control.ReportTick = tick
	ctx := c.JS.Context()
	second, third, done := script.MoreInterrupts(ctx)
	var end func()
	if control.StopMoves = second; second == nil {
		control.AbortContext, end = live.OutlivingContext(ctx, ctx, interruptGrace)
	} else {
		control.AbortContext, end = contextUntilClosed(ctx, third)
	}
	return r, control, func() {
		done()
		end()
		still()
		r.Progress.End()
	}
}

// interruptGrace is how long a running step may continue after Ctrl-C if a second Ctrl-C can't be
// received. After that, the step is left to the cluster: a resumed run finds out its outcome.
const interruptGrace = 3 * time.Second

// contextUntilClosed returns a context that ends when a channel is closed.
func contextUntilClosed(ctx context.Context, closed <-chan struct{}) (hard context.Context, leave func()) {
	hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-closed:
			cancel()
		case <-hard.Done():
		}
	}()
	return hard, cancel
}

// planAction is an action that applies a plan.
type planAction interface {
	Run(ctx context.Context, c action.Cluster, r action.Reporter) (action.PlanResult, error)
}

// runPlanAction runs an action and returns its result. about names the collections of the action.
func (c *call) runPlanAction(
	sh *Helpers,
	h helperOptions,
	about []string,
	of func(action.RunOptions) planAction,
) *goja.Object {
	e := c.runOptions(h)
	r, control, leave := c.newReporter(h)
	defer leave()
	e.Control = control
	result, err := of(e).Run(c.JS.Context(), c.cluster(sh), r)
	leave()
	if err == nil && result.Preflight != nil {
		return c.host.preflightObject(*result.Preflight)
	}
	again := ""
	if result.Journal != "" && !result.Finished {
		of := ""
		if h.helper != "apply" && goja.IsString(c.Arg(0)) {
			of = fmt.Sprintf("%q, ", c.Arg(0).String())
		}
		again = fmt.Sprintf(" To resume: sh.%s(%s{ resume: %q })", h.helper, of, result.Journal)
		if !result.NotUndoable {
			again += fmt.Sprintf("; to undo: sh.apply({ undo: %q })", result.Journal)
		}
		again += "."
	}
	if result.Warning != "" && err != nil {
		again = " " + result.Warning + again
	}
	if result.Verify != nil {
		c.JS.Out.Warn(strings.Join(actiontext.VerifyResult(*result.Verify), "\n"))
	}
	switch {
	case err != nil:
		sh.throwActionError(h.helper, about, err, again, result.PlanID != "")
	case c.JS.Context().Err() != nil:
		c.JS.Out.Warn(actiontext.PlanResult(result) + again)
	case result.Warning != "":
		c.JS.Out.Warn(result.Warning)
	}
	commands := result.Commands
	result.Commands = nil // scripts get them as documents
	object := c.host.jsonFormObject(result)
	if e.DryRun {
		script.Must(object.Set("commands", c.JS.DocumentArray(commandBodies(commands))))
	}
	return object
}

// throwActionError throws the error of an action, with the next steps. A server error before the action
// began is thrown as the server's own error.
func (h *Helpers) throwActionError(helper string, namespaces []string, err error, hint string, began bool) {
	js := h.host.JS
	if wrong, ok := errors.AsType[*action.OptionError](err); ok && !began {
		js.ThrowInvalid("sh.%s: %s", helper, wrong)
	}
	answered := errors.As(err, new(*action.NoAnswerError)) || errors.As(err, new(*mongoerr.ServerError)) ||
		errors.As(err, new(mongo.CommandError))
	unknown, _ := errors.AsType[*diagnosis.NotFoundError](err)
	switch {
	case unknown != nil && unknown.Cluster == "" && unknown.Kind == diagnosis.CollectionScope && len(namespaces) == 1:
		h.throwNotSharded(namespaces[0])
	case answered && !began:
		h.host.Gateway.Throw(err)
	}
	js.Throw(script.RuntimeErrorName, "%s%s", err, hint)
}

func commandBodies(commands []action.UnsentCommand) (docs []bson.Raw) {
	for _, command := range commands {
		docs = append(docs, command.Body)
	}
	return docs
}
