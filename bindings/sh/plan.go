package sh

import (
	"encoding/json"
	"errors"
	"math"
	"strings"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
	"shardsh/bindings/findings"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

const planOptionNames = "goal,by,maxBytes,maxMoves,maxRounds,for,model,seed,ignoreWindow,timeZone,diskLimit,advisories"

// shardPlanMethods returns the helpers that make plans.
func shardPlanMethods() []helper {
	return []helper{
		{"plan", "ns?:string|object options?:object{" + planOptionNames + "}", withMongosWarning(shPlan),
			"Plans what the balancer would do if it were on, step by step: for a collection, [collections] or all; {goal} is " +
				"balance, {drain: shard}, zones, defragment, consolidate or {presplit: {chunks|perShard|fromSample|points|like}}" +
				"; {maxBytes, maxMoves, maxRounds, for, diskLimit}; {by: \"auto\"} compares the ways to it instead."},
	}
}

// Plan is the object of a plan for scripts.
type Plan struct {
	script.OpaqueObject
	plan *plan.Plan
}

// planMethods returns the methods of a plan.
func planMethods() []script.Method[*Plan] {
	return []script.Method[*Plan]{
		{Name: "text", Signature: "all?:boolean why?:boolean",
			Help: "Returns the plan as text; true shows all of its steps, and another true why each is taken.",
			Call: func(c *script.Call, p *Plan) goja.Value {
				detail := findings.PlanDetail{All: c.Has(0) && c.Arg(0).ToBoolean(), Why: c.Has(1) && c.Arg(1).ToBoolean()}
				return c.JS.Runtime.ToValue(findings.PlanApprovalText(p.plan, detail))
			}},
		{Name: "script", Help: "Returns the plan as a script for mongosh or shardsh.",
			Call: func(c *script.Call, p *Plan) goja.Value {
				var b strings.Builder
				if err := p.plan.WriteScript(&b); err != nil {
					c.JS.Throw(script.RuntimeErrorName, "%s", err)
				}
				return c.JS.Runtime.ToValue(b.String())
			}},
		{Name: "toJSON", Help: `Returns what JSON.stringify(plan) writes, which "shardsh apply" reads.`,
			Call: func(c *script.Call, p *Plan) goja.Value { return plainJSValue(c.JS, p.plan) }},
	}
}

// shPlan returns a plan, which prints as the text of "shardsh plan".
func shPlan(c *call, sh *Helpers) goja.Value {
	if given := c.planOptions(); given.value("by") != nil {
		return c.compareWays(sh, given)
	}
	verb := c.planArguments()
	return c.host.planObject(runReadAction(c, sh, "plan", verb, verb.Goal.Namespaces...))
}

// planOptions returns the options of a plan, which follow the optional namespace.
func (c *call) planOptions() helperOptions {
	_, at := c.namespacesArgument("plan")
	return c.options("plan", at)
}

// compareWays compares the ways to a goal.
func (c *call) compareWays(sh *Helpers, given helperOptions) goja.Value {
	if by := given.text("by"); by != "auto" {
		given.throwWrongOption("by", `"auto"`, c.host.Display.Inspect(given.value("by")))
	}
	for _, name := range []string{"maxBytes", "maxMoves", "maxRounds", "for", "model", "ignoreWindow", "advisories"} {
		if given.value(name) != nil {
			c.JS.ThrowInvalid("sh.plan: option %s is for a plan, and not for {by}, which compares whole ways", name)
		}
	}
	names, _ := c.namespacesArgument("plan")
	verb := action.Price{
		Goal: c.goalOption(given), DiskLimit: given.shareOption("diskLimit"), Seed: uint64(given.count("seed")),
		TimeZone: given.text("timeZone"),
	}
	verb.Goal.Namespaces = names
	q := runReadAction(c, sh, "plan", verb, names...)
	return c.host.printableObject(q, findings.WayComparisonText(q))
}

// planArguments returns the plan's arguments: optional collections, and options.
func (c *call) planArguments() action.Plan {
	names, at := c.namespacesArgument("plan")
	given := c.options("plan", at)
	p := action.Plan{
		MaxBytes: given.size("maxBytes"), MaxMoves: int(given.count("maxMoves")), MaxRounds: int(given.count("maxRounds")),
		MaxDuration: given.duration("for", 0), SizeModel: given.text("model"), Seed: uint64(given.count("seed")),
		IgnoreWindow: given.flag("ignoreWindow", false), TimeZone: given.text("timeZone"),
		DiskLimit: given.shareOption("diskLimit"), AdvisoriesFile: c.advisoriesPath(given),
	}
	if p.Presplit = c.presplitOption(given, names); p.Presplit == nil {
		p.Goal = c.goalOption(given)
	}
	p.Goal.Namespaces = names
	return p
}

// namespacesArgument returns the collections in the first argument of a helper, which may be missing, a
// collection, or an array of collections. It also returns the position of the options.
func (c *call) namespacesArgument(helper string) (names []string, optionsIndex int) {
	first := c.Arg(0)
	switch list, isList := c.namespaceList(helper, first); {
	case !c.Has(0), goja.IsNull(first):
		return nil, 1
	case goja.IsString(first), isCollection(first):
		return []string{c.namespaceArgument(0)}, 1
	case isList:
		return list, 1
	}
	return nil, 0
}

// namespaceList returns the namespaces in an array of namespaces or collections.
func (c *call) namespaceList(helper string, v goja.Value) (list []string, ok bool) {
	o, isObject := v.(*goja.Object)
	if !isObject || o.ClassName() != "Array" {
		return nil, false
	}
	for _, name := range o.Keys() {
		item := o.Get(name)
		coll, isCollection := script.Receiver[Collection](item)
		switch {
		case isCollection:
			list = append(list, coll.Namespace())
		case goja.IsString(item):
			list = append(list, item.String())
		default:
			c.ThrowArgument("Shard."+helper, "ns", "a list of collections", c.host.Display.Inspect(item))
		}
	}
	return list, true
}

// goalOption returns a goal: "zones", {drain: "shard3"}, or {load: "writes"}.
func (c *call) goalOption(h helperOptions) plan.Goal {
	v := h.value("goal")
	if v == nil {
		return plan.Goal{Kind: plan.Balance}
	}
	text := v.String()
	if o, ok := v.(*goja.Object); ok {
		if text = string(plan.Drain) + "="; len(o.Keys()) == 1 {
			text = o.Keys()[0] + "=" + o.Get(o.Keys()[0]).String()
		}
	}
	goal, err := plan.ParseGoal(text)
	if err != nil {
		h.throwWrongOption("goal", "balance, { drain: shard }, zones, defragment, consolidate or load",
			c.host.Display.Inspect(v))
	}
	return goal
}

// count returns an option that is a whole number; 0 if it is missing.
func (h helperOptions) count(name string) int64 {
	return int64(h.parseNumber(name, "a whole number", func(n float64) bool { return n == math.Trunc(n) && n <= 1<<53 }))
}

// parseNumber returns an option that is a number from 0 of some kind; 0 if it is missing.
func (h helperOptions) parseNumber(name, kind string, isOfKind func(float64) bool) float64 {
	v := h.value(name)
	if v == nil {
		return 0
	}
	n, ok := h.call.asNumber(v)
	if !ok || n < 0 || isOfKind != nil && !isOfKind(n) {
		h.throwWrongOption(name, kind, h.call.host.Display.Inspect(v))
	}
	return n
}

// size returns an option that is a number of bytes, or a string such as 10GB; 0 if it is missing.
func (h helperOptions) size(name string) int64 {
	v := h.value(name)
	if v == nil || !goja.IsString(v) {
		return h.count(name)
	}
	n, err := catalog.ParseSize(v.String())
	if err != nil {
		h.throwWrongOption(name, "a size such as 10GB", h.call.host.Display.Inspect(v))
	}
	return n
}

// PlanOf returns the plan in a value: a plan of sh.plan, or the result of JSON.parse on its JSON form.
func (h *Host) PlanOf(v goja.Value) (*plan.Plan, error) {
	if p, ok := script.Receiver[*Plan](v); ok {
		return p.plan, nil
	}
	o, ok := v.(*goja.Object)
	if !ok {
		return nil, errors.New("not a plan of sh.plan()")
	}
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return plan.Read(strings.NewReader(string(text)))
}

// planObject returns a plan for scripts: the fields of its JSON form. The steps are built when they are
// read. Bounds are documents.
func (h *Host) planObject(p *plan.Plan) goja.Value {
	o := h.JS.NewInstance(&Plan{plan: p}, script.Prototype(h.JS, "Plan", planMethods()))
	head := *p
	head.Steps = nil
	fields := h.jsonFormObject(&head)
	for _, name := range fields.Keys() {
		if name == "steps" {
			h.JS.Values.DefineLazy(o, name, func() goja.Value { return h.stepObjects(p) })
			continue
		}
		script.Must(o.Set(name, fields.Get(name)))
	}
	h.JS.Values.SetPrinter(o, func() string {
		return strings.TrimSuffix(findings.PlanApprovalText(p, findings.PlanDetail{}), "\n")
	})
	return o
}

func (h *Host) stepObjects(p *plan.Plan) goja.Value {
	patterns := map[string]catalog.KeyPattern{}
	for _, c := range p.Basis.Collections {
		patterns[c.Namespace], _ = c.Pattern() // the pattern was made from a valid key
	}
	list := make([]any, len(p.Steps))
	for i, step := range p.Steps {
		pattern := patterns[step.Namespace]
		document := func(k catalog.Key) goja.Value { return h.JS.Values.DocToJS(pattern.Bound(k)) }
		o := h.jsonFormObject(step)
		script.Must(o.Set("min", document(step.Min)))
		script.Must(o.Set("max", document(step.Max)))
		if step.KnownRange != nil {
			script.Must(o.Set("within", h.JS.NewObject("min", document(step.KnownRange.Min), "max",
				document(step.KnownRange.Max))))
		}
		if len(step.Points) > 0 {
			points := make([]any, len(step.Points))
			for n, k := range step.Points {
				points[n] = document(k)
			}
			script.Must(o.Set("points", h.JS.Runtime.NewArray(points...)))
		}
		list[i] = o
	}
	return h.JS.Runtime.NewArray(list...)
}

// plainJSValue returns the JSON form of a value, with plain JavaScript numbers and objects.
func plainJSValue(js *script.Engine, v any) goja.Value {
	text, err := json.Marshal(v)
	if err != nil {
		js.Throw(script.RuntimeErrorName, "%s", err)
	}
	parse, _ := goja.AssertFunction(js.Runtime.GlobalObject().Get("JSON").ToObject(js.Runtime).Get("parse"))
	value, err := parse(goja.Undefined(), js.Runtime.ToValue(string(text)))
	js.Check(err)
	return value
}
